import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseCommandLine } from '@svc/edge';
import { runProcess, SVC, SVC_AGENT, temporaryFolder } from '@svc/testkit';
import { expect, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { proposeInMemory } from '../../packages/agent/src/cli/init/propose-in-memory.ts';
import { PROGRAM } from '../../packages/standalone/src/cli/program.ts';
import { startClient, type StdioClient } from './stdio.testing.ts';

interface Tool {
  readonly name: string;
  readonly inputSchema: {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  readonly outputSchema?: unknown;
}

interface UrlSource {
  readonly url: string;
  /** Those of `init` that choose tables. */
  readonly flags?: readonly string[];
  /** Where relative paths begin. */
  readonly cwd?: string;
}

/** `svc stdio` by this Node.js, which may be newer than that of PATH; until the test ends. */
export async function startHere(
  args: readonly string[],
  options: Parameters<typeof startClient>[2] = {},
): Promise<StdioClient> {
  const client = await startClient(process.execPath, [SVC, 'stdio', ...args], options);
  onTestFinished(async () => void (await client.process.stop()));
  return client;
}

export async function toolsOf(client: StdioClient): Promise<readonly Tool[]> {
  const { result } = await client.request('tools/list');
  const tools = result?.['tools'];
  if (!Array.isArray(tools)) throw new Error('there are no tools');
  return tools;
}

/** What is in the result of a call, or why there is none. */
export async function outcomeOf(client: StdioClient, name: string, args: object): Promise<unknown> {
  const { result, error } = await client.request('tools/call', { name, arguments: args });
  return result?.['structuredContent'] ?? result?.['content'] ?? error;
}

/** The capability file that `svc-agent init` would write. */
async function dryRunOf({ url, flags = [], cwd }: UrlSource): Promise<string> {
  const words = [SVC_AGENT, 'init', '--dry-run', '--json', ...flags];
  const env = { DATABASE_URL: url };
  const { stdout } = await runProcess(process.execPath, words, { env, ...(cwd && { cwd }) });
  const report: { readonly files: readonly { readonly path: string; readonly text?: string }[] } =
    JSON.parse(stdout);
  const text = report.files.find(({ path }) => path === 'capability.yaml')?.text;
  if (text === undefined) throw new Error(`init proposes no file: ${stdout}`);
  return text;
}

/** The file that `svc stdio` makes of the URL in memory. */
async function proposalOf({ url, flags = [] }: UrlSource): Promise<string> {
  const parsed = parseCommandLine(PROGRAM, ['stdio', ...flags]);
  if (parsed.kind !== 'command') throw new Error('the flags are not accepted');
  const { content } = await proposeInMemory(url, parsed.given, {}, 'Proposed');
  return Buffer.from(content).toString();
}

/** Bounds for all, then the capabilities, with a comment for what is left out. */
function proposedPart(file: string): string {
  const at = file.indexOf('\ndefaults:');
  if (at < 0) throw new Error('the file has no defaults');
  return file.slice(at);
}

/**
 * Compares what `svc stdio` makes of a URL with what `init --dry-run` would write: SQL, bounds and left-out columns as text,
 * then what clients get of either, tool by tool and call by call. `login` is for a database with accounts.
 */
export async function expectSameAsInit(
  source: UrlSource,
  calls: readonly (readonly [name: string, args: object])[],
  login: object = {},
): Promise<readonly Tool[]> {
  const { url, flags = [], cwd } = source;
  const written = await dryRunOf(source);
  expect(proposedPart(await proposalOf(source))).toBe(proposedPart(written));

  const folder = await temporaryFolder('as-init');
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'capability.json');
  const { database, ...rest } = parse(written);
  delete database.password_file;
  // JSON is YAML, too.
  await writeFile(file, JSON.stringify({ ...rest, database: { ...database, ...login } }));
  const env = { GATEWAY_MCP_OUTPUT_SCHEMA: 'true' };
  const options = { ...(cwd && { cwd }) };
  const [byUrl, byFile] = await Promise.all([
    startHere(['--url', url, ...flags], { env, ...options }),
    startHere(['--config', file], { env, ...options }),
  ]);
  for (const client of [byUrl, byFile]) await client.initialize();
  const tools = await toolsOf(byUrl);
  expect(tools).toEqual(await toolsOf(byFile));
  const called = new Set(calls.map(([name]) => name));
  expect([...called].toSorted()).toEqual(tools.map(({ name }) => name).toSorted());
  for (const [name, args] of calls)
    expect([name, await outcomeOf(byUrl, name, args)]).toEqual([name, await outcomeOf(byFile, name, args)]);
  return tools;
}
