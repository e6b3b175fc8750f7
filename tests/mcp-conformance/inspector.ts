import { deepStrictEqual } from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '@svc/testkit';
import { TOOLS } from './fixture.ts';
import { runProgram, type ProgramRun } from './run-program.ts';

const PROGRAM = fileURLToPath(
  new URL('node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js', import.meta.url),
);
const PROGRAM_MS = 30_000;

export interface InspectorCheck {
  readonly name: string;
  /** What is wrong, in a few lines; undefined when nothing is. */
  readonly fault: string | undefined;
}

interface ListedTools {
  readonly tools?: readonly { readonly name?: string }[];
}

interface CalledTool {
  readonly isError?: boolean;
  readonly structuredContent?: unknown;
  readonly content?: readonly { readonly type?: string; readonly text?: string }[];
}

const EXPECTED = {
  rows: [
    { id: 2, title: 'Ο Μεγάλος 书 "quoted"', price: null },
    { id: 3, title: 'Sand', price: 12 },
  ],
  count: 2,
};

interface Inspected {
  /** A gateway. */
  readonly url: string;
  readonly apiKey: string;
  /** A settings file of the inspector, whose server `library` is `svc stdio` with the same capabilities. */
  readonly settings: string;
}

/**
 * Uses the service at `url`, and the same by `svc stdio`, through the inspector's command line, run by the Node.js `node`, as
 * a client of the older revisions and of the newest: lists the tools, calls one with arguments, and is refused by the gateway
 * with a key that is none. `onCheck` hears of each check as it ends.
 */
export async function checkWithInspector(
  node: string,
  { url, apiKey, settings }: Inspected,
  signal: AbortSignal,
  onCheck: (check: InspectorCheck) => void,
): Promise<readonly InspectorCheck[]> {
  const home = await temporaryFolder('inspector');
  const byHttp = (key: string): readonly string[] => [
    '--server-url',
    `${url}/mcp`,
    '--transport',
    'http',
    '--header',
    `X-API-Key: ${key}`,
  ];
  const byStdio = ['--config', settings, '--server', 'library'];
  const inspect = (server: readonly string[], era: string, args: readonly string[]): Promise<ProgramRun> => {
    const manner = ['--protocol-era', era, '--format', 'json', '--stored-auth-only'];
    return runProgram(node, [PROGRAM, '--cli', ...server, ...manner, ...args], {
      withinMs: PROGRAM_MS,
      signal,
      home: home.path,
    });
  };
  const checks: InspectorCheck[] = [];
  try {
    for (const era of ['legacy', 'modern']) {
      const steps: readonly (readonly [string, () => Promise<void>])[] = [
        ['lists the tools', async () => checkList(await inspect(byHttp(apiKey), era, LIST))],
        ['calls a tool', async () => checkCall(await inspect(byHttp(apiKey), era, CALL))],
        ['is refused without a key', async () => checkRefusal(await inspect(byHttp('none'), era, LIST))],
        ['lists the tools of svc stdio', async () => checkList(await inspect(byStdio, era, LIST))],
        ['calls a tool of svc stdio', async () => checkCall(await inspect(byStdio, era, CALL))],
      ];
      for (const [name, step] of steps) {
        if (signal.aborted) return checks;
        const check = { name: `${era}: ${name}`, fault: await faultOf(step) };
        checks.push(check);
        onCheck(check);
      }
    }
  } finally {
    await home.remove();
  }
  return checks;
}

/** `--strict` makes the inspector refuse schemas that not every client understands. */
const LIST = ['--method', 'tools/list', '--strict'];
const CALL = ['--method', 'tools/call', '--tool-name', 'list_books', '--tool-arg', 'from_id=2'];

function checkList(run: ProgramRun): void {
  const { tools }: ListedTools = resultOf(run);
  deepStrictEqual(
    tools?.map(({ name }) => name),
    TOOLS,
  );
}

function checkCall(run: ProgramRun): void {
  const { isError, structuredContent, content }: CalledTool = resultOf(run);
  deepStrictEqual(isError ?? false, false);
  deepStrictEqual(structuredContent, EXPECTED);
  deepStrictEqual(
    content?.map(({ type, text }) => [type, JSON.parse(text ?? '')]),
    [['text', EXPECTED]],
  );
}

function checkRefusal(run: ProgramRun): void {
  if (run.late || run.code === 0) throw new Error(`it was to be refused\n${said(run)}`);
  if (!/\b401\b|unauthorized|auth_required/i.test(said(run))) {
    throw new Error(`the refusal was to be about the key\n${said(run)}`);
  }
}

/** The result is the object itself or its member `result`. */
function resultOf(run: ProgramRun): object {
  if (run.late || run.code !== 0) throw new Error(`it ended with ${run.code}\n${said(run)}`);
  const printed: object & { readonly result?: object } = JSON.parse(run.stdout);
  return printed.result ?? printed;
}

function said({ stdout, stderr }: ProgramRun): string {
  return `${stdout}${stderr}`.trim();
}

async function faultOf(step: () => Promise<void>): Promise<string | undefined> {
  try {
    await step();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
