import {
  commandsOf,
  FLAGS_OF_ALL,
  type CommandSpec,
  type FlagSpec,
  type ProgramSpec,
} from './command-table.ts';

/** Columns of a terminal that every reader has. */
const WIDTH = 88;
const INDENT = '      ';

/** The help of one command, or of the whole program. */
export function renderHelp(program: ProgramSpec, command: string | undefined): string {
  return command === undefined ? helpOfAll(program) : helpOfOne(program, command);
}

function helpOfAll(program: ProgramSpec): string {
  const commands = commandsOf(program);
  const parts = [
    usageLines(program.name, program.run) + paragraph(program.run.does),
    ...Object.entries(commands).map(
      ([name, spec]) => usageLines(`${program.name} ${name}`, spec) + paragraph(firstSentence(spec.does)),
    ),
    `  ${program.name} --help | --version\n`,
  ];
  return `Usage:\n${parts.join('\n')}\n${program.notes}`;
}

function helpOfOne(program: ProgramSpec, name: string): string {
  const spec = commandsOf(program)[name];
  if (spec === undefined) throw new TypeError(`no command ${name}`);
  const operands = (spec.operands ?? []).map(
    (each) => [`<${each.name}>`, each.does, each.mayRepeat] as const,
  );
  const flags = Object.entries({ ...spec.flags, ...FLAGS_OF_ALL }).map(
    ([flag, { short, value, does, mayRepeat }]) => {
      const letter = short === undefined ? '' : `-${short}, `;
      return [`${letter}--${flag}${value === undefined ? '' : ` <${value}>`}`, does, mayRepeat] as const;
    },
  );
  const also = spec.aliases === undefined ? '' : `\nAlso called: ${spec.aliases.join(', ')}.\n`;
  const takes = [...operands, ...flags].map(
    ([head, does, mayRepeat]) =>
      `  ${head}\n${paragraph(mayRepeat === true ? `${does} May be repeated.` : does)}`,
  );
  return `Usage:\n${usageLines(`${program.name} ${name}`, spec)}\n${wrap(spec.does, '')}${also}\nIt takes:\n${takes.join('')}`;
}

/** `  name [--flag <value>] <operand>`, on as many lines as it takes. */
function usageLines(name: string, { flags, operands = [] }: CommandSpec): string {
  const words = [
    ...operands.map(({ name: operand, isOptional, mayRepeat }) => {
      const each = `<${operand}>${mayRepeat === true ? '...' : ''}`;
      return isOptional === true ? `[${each}]` : each;
    }),
    ...Object.entries(flags).map(([flag, spec]) => usageOf(flag, spec)),
  ];
  const start = `  ${name}`;
  const lines = [start];
  for (const word of words) {
    const last = lines.at(-1) ?? '';
    if (last.length + 1 + word.length <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${' '.repeat(start.length)} ${word}`);
  }
  return `${lines.join('\n')}\n`;
}

function usageOf(flag: string, { value, isRequired, mayRepeat, short }: FlagSpec): string {
  const named = short === undefined ? `--${flag}` : `-${short}`;
  const whole = value === undefined ? named : `${named} <${value}>`;
  return `${isRequired === true ? whole : `[${whole}]`}${mayRepeat === true ? '...' : ''}`;
}

function paragraph(text: string): string {
  return wrap(text, INDENT);
}

function wrap(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines.map((line) => `${line}\n`).join('');
}

function firstSentence(text: string): string {
  return /^.*?[.:](?= |$)/.exec(text)?.[0].replace(/:$/, '.') ?? text;
}
