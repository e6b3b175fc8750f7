/**
 * What a program understands on its command line. Parser, help, completion and the reference are made from it, so
 * that none of them can know a flag that another does not.
 */
export interface ProgramSpec {
  readonly name: string;
  /** What it does without a command. */
  readonly run: CommandSpec;
  readonly commands: Readonly<Record<string, CommandSpec>>;
  /** Follows the commands in the help of the whole program. Lines as they are printed. */
  readonly notes: string;
}

export interface CommandSpec {
  /** Sentences of plain text. The first stands in the list of all commands, all of them in the help of this one. */
  readonly does: string;
  readonly flags: Readonly<Record<string, FlagSpec>>;
  readonly operands?: readonly OperandSpec[];
  readonly aliases?: readonly string[];
}

export interface FlagSpec {
  /** Names what is to be given; absent: the flag takes no value. */
  readonly value?: string;
  readonly does: string;
  readonly short?: string;
  readonly isRequired?: boolean;
  readonly mayRepeat?: boolean;
  readonly suggest?: Suggestions;
}

interface OperandSpec {
  readonly name: string;
  readonly does: string;
  readonly isOptional?: boolean;
  /** Takes all that is left; only the last one. */
  readonly mayRepeat?: boolean;
  readonly suggest?: Suggestions;
}

export type Suggestions = 'file' | readonly string[];

/** Of every command, and of the program. */
export const FLAGS_OF_ALL: Readonly<Record<'help' | 'version', FlagSpec>> = {
  help: { short: 'h', does: 'Print the commands and flags, and end.' },
  version: { short: 'v', does: 'Print the version, and end.' },
};

const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** The commands of the program, and those that every program has. */
export function commandsOf({ name, commands }: ProgramSpec): Readonly<Record<string, CommandSpec>> {
  const names = Object.keys(commands);
  return {
    ...commands,
    completion: {
      does: `Print a script that completes ${name} in a shell. The shell reads it at its start, by a line like \`source <(${name} completion bash)\`.`,
      flags: {},
      operands: [{ name: 'shell', does: `One of ${SHELLS.join(', ')}.`, suggest: SHELLS }],
    },
    help: {
      does: 'Print the commands, or what one of them does and takes.',
      flags: {},
      operands: [
        {
          name: 'command',
          does: 'Its name.',
          isOptional: true,
          suggest: [...names, 'completion'],
        },
      ],
    },
  };
}

export function isShell(word: string): word is Shell {
  return SHELLS.some((shell) => shell === word);
}
