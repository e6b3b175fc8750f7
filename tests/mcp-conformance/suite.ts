import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@svc/testkit';
import type { Check, Outcome } from './judge.ts';
import { runProgram } from './run-program.ts';

const PROGRAM = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);

/** What the suite gives a scenario, and what we give the whole program around it. */
const SCENARIO_MS = 20_000;
const PROGRAM_MS = 30_000;

export interface SuiteScenario {
  readonly name: string;
  /** The revisions that it belongs to, or `extension`. */
  readonly groups: readonly string[];
}

export interface Suite {
  /** All scenarios for servers, of every list that the suite keeps. */
  list(): Promise<readonly SuiteScenario[]>;
  /** Runs one scenario against the server at `url`, at `group`'s revision when that is one. */
  run(scenario: string, group: string, url: string): Promise<Outcome>;
}

/** The conformance suite, run by the Node.js `node`. Resolves early, with whatever came, when `signal` aborts. */
export function conformanceSuite(node: string, signal: AbortSignal): Suite {
  return {
    list: async () => {
      const home = await temporaryFolder('mcp');
      try {
        const args = [PROGRAM, 'list', '--server'];
        const { code, stdout, stderr } = await runProgram(node, args, {
          withinMs: PROGRAM_MS,
          signal,
          home: home.path,
        });
        if (code !== 0 && !signal.aborted) {
          throw new Error(`cannot list the scenarios: the suite ended with ${code}\n${stderr}`);
        }
        return scenariosIn(stdout);
      } finally {
        await home.remove();
      }
    },
    run: async (scenario, group, url) => {
      const home = await temporaryFolder('mcp');
      try {
        const results = join(home.path, 'results');
        const revision = group === 'extension' ? [] : ['--spec-version', group];
        const args = ['server', '--url', url, '--scenario', scenario, ...revision, '--output-dir', results];
        const { code, stdout, stderr, late } = await runProgram(
          node,
          [PROGRAM, ...args, '--timeout', String(SCENARIO_MS)],
          { withinMs: PROGRAM_MS, signal, home: home.path },
        );
        const checks = await readChecks(results);
        if (late) return { scenario, checks: [], fault: `it ran for more than ${PROGRAM_MS / 1000} s` };
        if (checks !== undefined) return { scenario, checks };
        const said = `${stdout}${stderr}`.trim().split('\n').slice(-10).join('\n');
        return { scenario, checks: [], fault: `it ended with ${code} and wrote no results\n${said}` };
      } finally {
        await home.remove();
      }
    },
  };
}

/** Lines such as `  - tools-list [2025-11-25,2026-07-28]`; one that is written otherwise must not be lost. */
function scenariosIn(text: string): readonly SuiteScenario[] {
  return [...text.matchAll(/^ *- (.*)$/gm)].map(([line, entry = '']) => {
    const [, name, groups] = /^(\S+) \[(\S+)\]$/.exec(entry) ?? [];
    if (name === undefined || groups === undefined) throw new Error(`cannot read the scenario "${line}"`);
    return { name, groups: groups.split(',') };
  });
}

/** The suite makes one folder a scenario, with the time in its name. */
async function readChecks(folder: string): Promise<readonly Check[] | undefined> {
  const [only, ...others] = await readdir(folder).catch((): string[] => []);
  if (only === undefined || others.length > 0) return undefined;
  try {
    const checks: readonly Check[] = JSON.parse(await readFile(join(folder, only, 'checks.json'), 'utf8'));
    return checks;
  } catch {
    return undefined;
  }
}
