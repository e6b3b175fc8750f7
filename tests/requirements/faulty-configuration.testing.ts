import { readFileSync } from 'node:fs';
import { copyFile, link, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { runProcess, SVC_AGENT, SVC_GATEWAY } from '@svc/testkit';
import { printFaults } from '../../packages/agent/src/cli/print-faults.ts';
import { runStartUpChecks } from '../../packages/agent/src/start-up/checks.ts';
import { loadConfig } from '../../packages/gateway/src/config/load.ts';

/** Stands wherever a case can hold a secret, SQL or a name of the database; never to be printed. */
export const CANARY = 'CanaryNotToBePrinted';

/** The pair of RFC 8032, section 7.1, test 1, as raw bytes. */
const PUBLIC = Buffer.from('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a', 'hex');
const PRIVATE = Buffer.from('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60', 'hex');

export const PUBLIC_KEY: string = PUBLIC.toString('base64url');
export const PRIVATE_KEY: string = PRIVATE.toString('base64url');
/** The 64-byte form of the private key. */
export const BOTH_KEYS: string = Buffer.concat([PRIVATE, PUBLIC]).toString('base64url');

export interface FaultyConfiguration {
  readonly title: string;
  readonly binary: 'svc-gateway' | 'svc-agent';
  /**
   * Starts the executable, which takes half a second: for cases of what surrounds the checks, such as how a file is
   * found and what the log says, and for some of the others. The rest call what it calls, in this process.
   * Default: where there are `args`.
   */
  readonly asProcess?: boolean;
  readonly args?: readonly string[];
  /** Runs it as `node <flags> <binary>`: without `--`, Node.js itself looks for the file of `--env-file` first. */
  readonly nodeFlags?: readonly string[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Written into the folder that the program runs in. */
  readonly files?: Readonly<Record<string, string | Uint8Array>>;
  /** What else the folder needs. */
  readonly prepare?: (folder: string) => Promise<void>;
  /** What standard error has to name, line by line. */
  readonly names: readonly string[];
}

export interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  /** With `<folder>` for the folder that the program ran in. */
  readonly stderr: string;
  readonly folder: string;
}

/** Runs each in a folder of its own under `parent`, with `env` below its own environment, a few at a time. */
export async function runAll(
  parent: string,
  cases: readonly FaultyConfiguration[],
  env: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, Outcome>> {
  await copyFile(SVC_AGENT, join(parent, 'svc-agent'));
  const outcomes = new Map<string, Outcome>();
  const rest = cases.entries();
  const work = async (): Promise<void> => {
    for (const [index, each] of rest) {
      outcomes.set(
        each.title,
        await run(parent, join(parent, String(index)), { ...each, env: { ...env, ...each.env } }),
      );
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  return outcomes;
}

async function run(parent: string, folder: string, each: FaultyConfiguration): Promise<Outcome> {
  await mkdir(folder);
  for (const [name, text] of Object.entries(each.files ?? {})) await writeFile(join(folder, name), text);
  await each.prepare?.(folder);
  const asProcess = each.asProcess ?? each.args !== undefined;
  const { code, stdout, stderr } = asProcess
    ? await runExecutable(parent, folder, each)
    : await (each.binary === 'svc-gateway' ? loadGateway : checkAgent)(folder, each.env ?? {});
  return { code, stdout, stderr: stderr.replaceAll(folder, '<folder>'), folder };
}

type Said = Pick<Outcome, 'code' | 'stdout' | 'stderr'>;
type Environment = NonNullable<FaultyConfiguration['env']>;

async function loadGateway(folder: string, env: Environment): Promise<Said> {
  const loaded = loadConfig(env, (path) => readFileSync(resolve(folder, path), 'utf8'));
  if ('config' in loaded) return { code: null, stdout: '', stderr: '' };
  const faults = loaded.faults.map(({ setting, message }) => `${setting}: ${message}`);
  const warnings = loaded.warnings.map((message) => `warning: ${message}`);
  const stderr = [...faults, ...warnings].map((line) => `svc-gateway: ${line}\n`).join('');
  return { code: 2, stdout: '', stderr };
}

async function checkAgent(folder: string, env: Environment): Promise<Said> {
  let stderr = '';
  let code: number | null = null;
  const file = join(folder, 'capability.yaml');
  await runStartUpChecks({ file, content: undefined, offline: true }, env, (report) => {
    if (report.step !== 'malformed' && report.step !== 'refused') return;
    printFaults(report.faults, { write: (text) => (stderr += text) }, file);
    code = 2;
  });
  return { code, stdout: '', stderr };
}

async function runExecutable(parent: string, folder: string, each: FaultyConfiguration): Promise<Said> {
  // The agent logs next to itself, so each case has an agent of its own.
  const agent = join(folder, 'svc-agent');
  await link(join(parent, 'svc-agent'), agent);
  const command = each.binary === 'svc-gateway' ? SVC_GATEWAY : agent;
  const { args = [], nodeFlags, env = {} } = each;
  return nodeFlags === undefined
    ? await runProcess(command, args, { cwd: folder, env })
    : await runProcess(process.execPath, [...nodeFlags, command, ...args], { cwd: folder, env });
}

/** The page that people review: for each case a heading, what standard error said, and the exit code. */
export function renderPage(
  cases: readonly FaultyConfiguration[],
  outcomes: ReadonlyMap<string, Outcome>,
): string {
  const sections = cases.map(({ binary, title }) => {
    const { code, stderr } = outcomes.get(title) ?? { code: null, stderr: '' };
    return `## ${binary}: ${title}\n${stderr}exit code ${code}\n`;
  });
  return sections.join('\n');
}
