import { parseArgs } from 'node:util';
import { nearestWithin } from '../text/nearest.ts';
import {
  commandsOf,
  FLAGS_OF_ALL,
  isShell,
  type CommandSpec,
  type FlagSpec,
  type ProgramSpec,
  type Shell,
} from './command-table.ts';

export type ParsedCommand =
  /** `name` is undefined where the program is run without a command. */
  | { readonly kind: 'command'; readonly name: string | undefined; readonly given: Given }
  /** Of the whole where `command` is undefined. */
  | { readonly kind: 'help'; readonly command: string | undefined }
  | { readonly kind: 'version' }
  | { readonly kind: 'completion'; readonly shell: Shell }
  /** One line that says what to do; exit code 2. */
  | { readonly kind: 'usage_error'; readonly message: string };

export interface Given {
  /** Whether a flag without a value is there. */
  has(flag: string): boolean;
  /** Of a flag that is given once at most; undefined where it is absent. */
  value(flag: string): string | undefined;
  values(flag: string): readonly string[];
  readonly operands: readonly string[];
}

interface FlagToken {
  readonly name: string;
  readonly typed: string;
  readonly value: string | undefined;
  readonly isInline: boolean;
}

/** Understands arguments (without node and script); prints nothing. Flags may stand before the command. */
export function parseCommandLine(program: ProgramSpec, argv: readonly string[]): ParsedCommand {
  const commands = commandsOf(program);
  const all = [program.run, ...Object.values(commands)].flatMap(({ flags }) => Object.entries(flags));
  const known = new Map([...all, ...Object.entries(FLAGS_OF_ALL)]);
  const { flags, words } = readTokens(known, argv);
  const help = (): string => `see \`${program.name} --help\``;
  const unknown = (what: string, word: string, candidates: Iterable<string>): ParsedCommand => {
    const close = nearestWithin(word, candidates);
    const hint = close === undefined ? help() : `did you mean \`${close}\`?`;
    return wrong(`unknown ${what} ${JSON.stringify(word)}: ${hint}`);
  };

  const [word, ...operands] = words;
  const name = word === undefined ? undefined : commandNamed(commands, word);
  const command = name === undefined ? program.run : commands[name];
  const fitting: Readonly<Record<string, FlagSpec>> = { ...command?.flags, ...FLAGS_OF_ALL };
  // A misspelt flag leaves its value behind as a word, so flags are judged before words.
  const stray = flags.find((flag) => !known.has(flag.name));
  if (stray !== undefined) {
    const candidates = name === undefined ? known.keys() : Object.keys(fitting);
    return unknown('flag', stray.typed, [...candidates].map(dashed));
  }
  if (word !== undefined && name === undefined) return unknown('command', word, Object.keys(commands));
  const unfit = flags.find((flag) => !Object.hasOwn(fitting, flag.name));
  if (unfit !== undefined) {
    const taker = name === undefined ? `${program.name} without a command` : `\`${name}\``;
    return wrong(`${taker} takes no \`${dashed(unfit.name)}\``);
  }
  const problem = flagProblem(fitting, flags);
  if (problem !== undefined) return wrong(problem);
  if (flags.some((flag) => flag.name === 'help')) return { kind: 'help', command: name };
  if (flags.some((flag) => flag.name === 'version')) return { kind: 'version' };
  const missing = Object.entries(fitting).find(
    ([flag, { isRequired }]) => isRequired === true && !flags.some((each) => each.name === flag),
  );
  if (missing !== undefined) {
    const [flag, { value = '' }] = missing;
    return wrong(`\`${name ?? program.name}\` needs \`${dashed(flag)} <${value}>\``);
  }
  const operandProblem = misfit(command, operands, name ?? program.name);
  if (operandProblem !== undefined) return wrong(operandProblem);
  const [first = ''] = operands;
  if (name === 'help') {
    const about = first === '' ? undefined : commandNamed(commands, first);
    return first !== '' && about === undefined
      ? unknown('command', first, Object.keys(commands))
      : { kind: 'help', command: about };
  }
  if (name === 'completion') {
    return isShell(first)
      ? { kind: 'completion', shell: first }
      : wrong(`no completion for ${JSON.stringify(first)}: bash, zsh and fish have one`);
  }
  return { kind: 'command', name, given: givenOf(flags, operands) };
}

function readTokens(
  known: ReadonlyMap<string, FlagSpec>,
  argv: readonly string[],
): { readonly flags: readonly FlagToken[]; readonly words: readonly string[] } {
  const options = Object.fromEntries(
    [...known].map(([name, { value, short }]) => [
      name,
      {
        type: value === undefined ? 'boolean' : 'string',
        ...(short === undefined ? {} : { short }),
      } as const,
    ]),
  );
  // The refusals here say more than those of parseArgs.
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  return {
    flags: tokens.flatMap((token) =>
      token.kind === 'option'
        ? [
            {
              name: token.name,
              typed: token.rawName,
              value: token.value,
              isInline: token.inlineValue === true,
            },
          ]
        : [],
    ),
    words: tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : [])),
  };
}

function flagProblem(
  specs: Readonly<Record<string, FlagSpec>>,
  flags: readonly FlagToken[],
): string | undefined {
  const seen = new Set<string>();
  for (const { name, value, isInline } of flags) {
    const spec = specs[name];
    const flag = `\`${dashed(name)}\``;
    if (seen.has(name) && spec?.mayRepeat !== true && spec?.value !== undefined)
      return `${flag} is given twice`;
    seen.add(name);
    if (spec?.value === undefined) {
      if (value !== undefined) return `${flag} takes no value`;
    } else if (value === undefined || value === '' || (!isInline && value.startsWith('--'))) {
      return `${flag} needs a value: <${spec.value}>`;
    }
  }
  return undefined;
}

function misfit(
  command: CommandSpec | undefined,
  operands: readonly string[],
  name: string,
): string | undefined {
  const specs = command?.operands ?? [];
  const missing = specs[operands.length];
  if (missing !== undefined && missing.isOptional !== true) return `\`${name}\` needs <${missing.name}>`;
  const surplus = operands[specs.length];
  if (surplus === undefined || specs.at(-1)?.mayRepeat === true) return undefined;
  const files = Object.entries(command?.flags ?? {}).find(([, { suggest }]) => suggest === 'file');
  const hint = files === undefined ? '' : `: name a file with \`${dashed(files[0])}\``;
  return `unexpected argument ${JSON.stringify(surplus)}${hint}`;
}

function givenOf(flags: readonly FlagToken[], operands: readonly string[]): Given {
  const values = (flag: string): readonly string[] =>
    flags.flatMap(({ name, value }) => (name === flag && value !== undefined ? [value] : []));
  return {
    has: (flag) => flags.some(({ name }) => name === flag),
    value: (flag) => values(flag)[0],
    values,
    operands,
  };
}

function commandNamed(commands: Readonly<Record<string, CommandSpec>>, word: string): string | undefined {
  return Object.keys(commands).find((name) => name === word || commands[name]?.aliases?.includes(word));
}

function dashed(flag: string): string {
  return `--${flag}`;
}

function wrong(message: string): ParsedCommand {
  return { kind: 'usage_error', message };
}
