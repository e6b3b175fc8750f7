import { parseArgs } from 'node:util';
import { nearestWithin } from '@svc/edge';

export type Command =
  /** `config` is absent when `--config` is not given. */
  | { readonly kind: 'run'; readonly config?: string }
  | { readonly kind: 'check'; readonly config?: string; readonly offline: boolean; readonly json: boolean }
  | { readonly kind: 'schema' }
  | { readonly kind: 'help' }
  | { readonly kind: 'version' }
  /** Exit code 2. */
  | { readonly kind: 'usage_error'; readonly message: string };

export const FLAGS_OF: Readonly<Record<'run' | 'check' | 'schema', readonly string[]>> = {
  run: ['--config'],
  check: ['--config', '--offline', '--json'],
  schema: [],
};

/** Flags of every command. */
export const EVERYWHERE: readonly string[] = ['--help', '--version'];
const ALL_FLAGS: readonly string[] = [...FLAGS_OF.check, ...EVERYWHERE];
const COMMANDS = ['check', 'schema'] as const;
const SHORT: Readonly<Record<string, string>> = { '-h': '--help', '-v': '--version' };

interface Given {
  readonly flags: ReadonlySet<string>;
  readonly words: readonly string[];
  readonly config: string | undefined;
  readonly problem: string | undefined;
}

/** Understands the arguments of `svc-agent` (without node and script); reads and prints nothing. */
export function parseArguments(argv: readonly string[]): Command {
  const { flags, words, config, problem } = readTokens(argv);
  const stray = [...flags].find((flag) => !ALL_FLAGS.includes(flag));
  if (stray !== undefined) return unknown('flag', stray, ALL_FLAGS);
  const [word, extra] = words;
  const kind = word === undefined ? 'run' : COMMANDS.find((command) => command === word);
  if (kind === undefined) return unknown('command', word ?? '', COMMANDS);
  if (extra !== undefined) {
    return usageError(
      `unexpected argument ${JSON.stringify(extra)}: name the capability file with \`--config\``,
    );
  }
  const fitting = new Set<string>([...FLAGS_OF[kind], ...EVERYWHERE]);
  const unfit = [...flags].find((flag) => !fitting.has(flag));
  if (unfit !== undefined) {
    return usageError(`${word === undefined ? 'running the agent' : `\`${word}\``} takes no \`${unfit}\``);
  }
  if (problem !== undefined) return usageError(problem);
  if (flags.has('--help')) return { kind: 'help' };
  if (flags.has('--version')) return { kind: 'version' };
  const file = config === undefined ? {} : { config };
  switch (kind) {
    case 'run':
      return { kind, ...file };
    case 'check':
      return { kind, ...file, offline: flags.has('--offline'), json: flags.has('--json') };
    case 'schema':
      return { kind };
  }
}

function readTokens(argv: readonly string[]): Given {
  const { tokens } = parseArgs({
    args: [...argv],
    options: {
      config: { type: 'string' },
      offline: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
    // The refusals here say more than those of parseArgs.
    strict: false,
    tokens: true,
  });
  const flags = new Set<string>();
  const words: string[] = [];
  let config: string | undefined;
  let problem: string | undefined;
  for (const token of tokens) {
    if (token.kind === 'positional') words.push(token.value);
    if (token.kind !== 'option') continue;
    const flag = SHORT[token.rawName] ?? token.rawName;
    if (flag === '--config') {
      if (flags.has(flag)) problem ??= '`--config` is given twice';
      if (token.value === undefined || token.value === '')
        problem ??= '`--config` needs the path of a capability file';
      config = token.value;
    } else if (token.value !== undefined) {
      problem ??= `\`${flag}\` takes no value`;
    }
    flags.add(flag);
  }
  return { flags, words, config, problem };
}

function unknown(what: string, name: string, known: readonly string[]): Command {
  const nearest = nearestWithin(name, known);
  const hint = nearest === undefined ? 'see `svc-agent --help`' : `did you mean \`${nearest}\`?`;
  return usageError(`unknown ${what} ${JSON.stringify(name)}: ${hint}`);
}

function usageError(message: string): Command {
  return { kind: 'usage_error', message };
}
