import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder, type ServerAddress } from '@svc/testkit';

/** What the tables of the attacks hold. */
export const LIBRARY: readonly string[] = [
  'create table book (id integer primary key, title text not null, note text)',
  "insert into book select n, 'Book ' || n, repeat('x', n % 50) from generate_series(1, 500) n",
  'analyze book',
];

const CAPABILITIES = `
capabilities:
  get_book:
    description: A book by its number
    sql: select id, title from book where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, title: { type: string } }
  list_books:
    description: Books
    sql: select id, title, note from book order by id limit :most
    params: { most: { type: integer, required: true, minimum: 1, maximum: 500 } }
    policy: { max_rows: 200 }
    result: { id: { type: integer }, title: { type: string }, note: { type: string, nullable: true } }
  sleep:
    description: Sleeps
    sql: select 1 as a from pg_sleep(:seconds)
    params: { seconds: { type: number, required: true } }
    policy: { allow_functions: [pg_sleep], timeout: 60s }
    result: { a: { type: integer } }
  large:
    description: A result of up to a megabyte
    sql: select repeat('y', 1000) as text from generate_series(1, :rows) n
    params: { rows: { type: integer, required: true } }
    result: { text: { type: string } }
  mine:
    description: What the caller claims
    sql: select cast(:area as text) as area, cast(:who as text) as who
    params:
      area: { type: string, from: principal.claims.area }
      who: { type: string, from: principal.key_name }
    result: { area: { type: string }, who: { type: string } }
`;

export interface Place extends ServerAddress {
  readonly name: string;
}

interface FileOptions {
  readonly capabilities?: string;
  /** The section `identity`, as YAML. */
  readonly identity?: string;
}

/** A capability file for the library, without `gateway`. */
export function libraryFile(
  { host, port, name, user, password }: Place,
  { capabilities = CAPABILITIES, identity = '{ trust: gateway }' }: FileOptions = {},
): string {
  return `service: { title: Library, version: 1.2.0, description: Books of a library }
identity: ${identity}
database: { host: ${host}, port: ${port}, name: ${name}, user: ${user}, password: "${password}" }
${capabilities}`;
}

/** A folder with `library.yaml`. */
export async function libraryFolder(text: string): Promise<{
  readonly path: string;
  readonly file: string;
  remove(): Promise<void>;
}> {
  const folder = await temporaryFolder('stdio');
  const file = join(folder.path, 'library.yaml');
  await writeFile(file, text);
  return { path: folder.path, file, remove: () => folder.remove() };
}
