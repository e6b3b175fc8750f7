import { commandsOf, FLAGS_OF_ALL, type CommandSpec, type FlagSpec, type ProgramSpec } from '@svc/edge';
import { code, table } from './markdown.ts';

/** Where more is said of a command. */
const MORE: Readonly<Record<string, string>> = {
  'svc-gateway': 'See [signals](#signals) and [the environment file](settings.md#the-environment-file).',
  'svc-gateway create-key': 'See [the record](settings.md#api-key-records).',
  'svc-gateway revoke-key': 'See [the guide](../guides/shared-limits.md#revoke-a-key).',
  'svc-gateway create-console-token': 'See [the guide](../guides/console.md).',
  'svc-agent': 'See [signals](#signals).',
  'svc-agent dev': 'See [the guide](../guides/workbench.md).',
  'svc-agent test': 'See [examples that are tests](../guides/examples.md).',
  'svc-agent lint': 'See [its rules](../guides/examples.md#what-else-makes-capabilities-hard-to-use).',
  'svc stdio': 'See [the guide](../guides/stdio.md).',
  'svc serve': 'See [the guide](../guides/serve.md).',
  'svc-agent schema': 'See [editors](../guides/first-capability-file.md#let-your-editor-help).',
};

/** The commands of a program, each with its flags. */
export function commandList(program: ProgramSpec): string {
  const section = (line: string, { does, flags, operands = [], aliases }: CommandSpec): string => {
    const also = aliases === undefined ? [] : [`Also called ${aliases.map(code).join(', ')}.`];
    const rows = [
      ...operands.map(({ name, does: meant, isOptional }) => [
        code(`<${name}>`),
        isOptional === true ? `${meant} May be left out.` : meant,
      ]),
      ...Object.entries({ ...flags, ...FLAGS_OF_ALL }).map(([flag, spec]) => [
        code(`--${flag}`),
        meaning(spec),
      ]),
    ];
    return [
      `### \`${line}\``,
      [does, ...also, MORE[line] ?? ''].join(' ').trim(),
      table([operands.length === 0 ? 'Flag' : 'Argument', 'Meaning'], rows),
    ].join('\n\n');
  };
  return [
    section(program.name, program.run),
    ...Object.entries(commandsOf(program)).map(([name, spec]) => section(`${program.name} ${name}`, spec)),
  ].join('\n\n');
}

function meaning({ does, short, isRequired, mayRepeat }: FlagSpec): string {
  return [
    ...(isRequired === true ? ['Required.'] : []),
    does,
    ...(mayRepeat === true ? ['May be given several times.'] : []),
    ...(short === undefined ? [] : [`Also \`-${short}\`.`]),
  ].join(' ');
}
