import type { CapabilityJson } from '../../packages/agent/src/diff/capability-pairs.testing.ts';
import type { Pairs } from './pairs.testing.ts';

const HEAD = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.js';

declare const process: { env: Record<string, string | undefined>; exitCode: number };
const client = createClient<paths>({
  baseUrl: process.env['GATEWAY'] ?? '',
  headers: { Authorization: \`Bearer \${process.env['KEY'] ?? ''}\` },
});
let calls = 0;
function failed(name: string, error: unknown): void {
  console.log(name, JSON.stringify(error));
  process.exitCode = 1;
}
`;
const TYPES: Readonly<Record<string, string>> = {
  integer: 'number',
  number: 'number',
  string: 'string',
  boolean: 'boolean',
  date: 'string',
  datetime: 'string',
  array: 'unknown[]',
  object: 'Record<string, unknown>',
};

/** A program that calls each capability as its description of before has it, and reads each field of its rows. */
export function callsSource({ old, compatible }: Pairs): string {
  const calls = [...compatible].flatMap(([name, bodies]) =>
    bodies.map(
      (body) => `{
  const { data, error } = await client.POST('/api/v1/capabilities/${name}', { body: ${JSON.stringify(body)} });
  calls += 1;
  if (error !== undefined) failed('${name}', error);
  for (const row of data?.rows ?? []) {${readsOf(old[name])}
  }
}`,
    ),
  );
  return [HEAD, ...calls, 'console.log(`${calls} calls`);', ''].join('\n');
}

function readsOf(capability: CapabilityJson | undefined): string {
  return Object.entries(capability?.result ?? {})
    .map(([name, { type, nullable }]) => {
      const orNull = nullable === false ? '' : ' | null';
      return `\n    const ${name}: ${TYPES[String(type)] ?? 'never'}${orNull} = row.${name}; void ${name};`;
    })
    .join('');
}

/** Compiles when what old callers send is what is taken now, and what is answered now is what they read. */
export function assignmentsSource({ compatible }: Pairs): string {
  const head = `
import type { paths as Old } from './old/schema.js';
import type { paths as Now } from './new/schema.js';
type Json<T> = T extends { content: { 'application/json': infer Content } } ? Content : never;
type Sent<P extends keyof Old & keyof Now, Of extends Old | Now> = Json<Of[P]['post']['requestBody']>;
type Answered<P extends keyof Old & keyof Now, Of extends Old | Now> = Json<Of[P]['post']['responses'][200]>;
`;
  const lines = [...compatible.keys()].flatMap((name) => {
    const path = `'/api/v1/capabilities/${name}'`;
    return [
      `export const sent_${name} = (body: Sent<${path}, Old>): Sent<${path}, Now> => body;`,
      `export const answered_${name} = (answer: Answered<${path}, Now>): Answered<${path}, Old> => answer;`,
    ];
  });
  return [head, ...lines, ''].join('\n');
}
