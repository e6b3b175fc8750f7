import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pick, runProcess, SVC_AGENT, temporaryFolder } from '@svc/testkit';
import pg from 'pg';

export interface ClausesScene {
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly user: string;
    readonly password: string;
    readonly name: string;
  };
  readonly execute: (sql: string) => Promise<unknown>;
  readonly random: () => number;
  readonly progress: (text: string) => void;
}

/** A file has so many capabilities, each with one filter. */
const AT_ONCE = 2000;
const ROWS = 20;
const WORDS = (
  'size kind :p :p :p = <> < ( ) ( ) or and not true false null , ; -- /* */ \' " $$ $a$ union select from where ' +
  'group by order limit as x 1 2 in between case when then else end is distinct exists { } [ ] :: int text || any all ' +
  "row e'\\' u&\"x\" b'1' \\ ~ ! @ # % ^ & * + - / . ? ` $1 $2 having window over values table with"
).split(' ');

/** The database judges what was taken: beside `and false` no row may come, beside `or true` each must. */
export async function tryFilters(
  { server, execute, random, progress }: ClausesScene,
  count: number,
  wrong: string[],
): Promise<{ readonly taken: number; readonly refused: number }> {
  await execute(`create table item (id int primary key, size int, kind text);
    insert into item select i, i % 5, 'kind ' || i % 3 from generate_series(1, ${ROWS}) i`);
  const client = new pg.Client({ ...server, database: server.name });
  await client.connect();
  const folder = await temporaryFolder('filters');
  let taken = 0;
  try {
    for (let made = 0; made < count; made += AT_ONCE) {
      const filters = Array.from({ length: Math.min(AT_ONCE, count - made) }, () => randomFilter(random));
      for (const filter of await filtersTaken(folder.path, filters)) {
        taken += 1;
        const problem = await problemOf(client, filter);
        if (problem !== undefined) wrong.push(`the filter ${JSON.stringify(filter)}: ${problem}`);
      }
      progress(`${made + filters.length} of ${count} filters`);
    }
    return { taken, refused: count - taken };
  } finally {
    await client.end();
    await folder.remove();
  }
}

function randomFilter(random: () => number): string {
  const length = 1 + Math.floor(random() * 8);
  const words = Array.from({ length }, () => pick(random, WORDS));
  return words.join(random() < 0.8 ? ' ' : '') || ' ';
}

/** Those in which `check` finds no fault without a database. */
async function filtersTaken(folder: string, filters: readonly string[]): Promise<readonly string[]> {
  const capabilities = filters.map((filter, at) => [
    `c${at}`,
    {
      sql: 'select id from item where {filters}',
      params: { p: { type: 'integer', filter } },
      result: { id: { type: 'integer' } },
    },
  ]);
  const file = {
    gateway: { url: 'wss://gateway.example.com/ws/agent' },
    database: { host: 'db', name: 'n', user: 'u', password: 'p' },
    capabilities: Object.fromEntries(capabilities),
  };
  const path = join(folder, 'capability.yaml');
  // A dollar and a brace begin a variable of the file.
  await writeFile(path, JSON.stringify(file));
  const { stdout } = await runProcess(SVC_AGENT, ['check', '--offline', '--json', '--config', path], {
    withinMs: 300_000,
  });
  const { faults }: { readonly faults: readonly { readonly path: string }[] } = JSON.parse(stdout);
  const refused = new Set(faults.map((fault) => /^capabilities\.(c\d+)/.exec(fault.path)?.[1]));
  return filters.filter((_, at) => !refused.has(`c${at}`));
}

/** Undefined also if the server does not take it: then the start would refuse it. */
async function problemOf(client: pg.Client, filter: string): Promise<string | undefined> {
  const condition = filter.replaceAll(/:p(?![A-Za-z0-9_])/g, ' (3::int8) ');
  const countWith = async (rest: string): Promise<number | undefined> => {
    try {
      const { rows } = await client.query({
        text: `select count(*)::int as n from item where (${condition}) ${rest}`,
        values: [],
        // Alone in its message, so that it cannot be two statements.
        name: '',
      });
      return Number(rows[0]?.n);
    } catch {
      return undefined;
    }
  };
  const [none, all] = [await countWith('and false'), await countWith('or true')];
  if (none !== undefined && none !== 0) return `${none} rows beside \`and false\``;
  if (all !== undefined && all !== ROWS) return `${all} rows beside \`or true\``;
  return undefined;
}
