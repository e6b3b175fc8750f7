import { parseCommandLine } from '@svc/edge';
import { expect, test } from 'vitest';
import { PROGRAM } from '../../packages/standalone/src/cli/program.ts';
import { readDocument } from './documents.ts';

interface Server {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

const { blocks } = readDocument('docs/guides/stdio.md');

test.each(blocks.filter(({ language }) => language === 'json'))(
  'the configuration at $at starts svc stdio',
  ({ text }) => {
    const file: { readonly mcpServers?: Record<string, Server>; readonly servers?: Record<string, Server> } =
      JSON.parse(text);
    const server = (file.mcpServers ?? file.servers)?.['library'];
    const words = [server?.command ?? '', ...(server?.args ?? [])];
    const program = words.findIndex((word) => /(?:^|\/)svc$/.test(word));
    expect(program).toBeGreaterThanOrEqual(0);
    expect(parseCommandLine(PROGRAM, words.slice(program + 1))).toMatchObject({
      kind: 'command',
      name: 'stdio',
    });
    expect(Object.keys(server?.env ?? {})).toEqual(['SVC_DATABASE_URL']);
  },
);

test.each(['stdio', 'serve'])('every command of the guide of svc %s is one', (name) => {
  const lines = readDocument(`docs/guides/${name}.md`).blocks.flatMap(({ language, text }) =>
    language === 'sh' ? text.split('\n') : [],
  );
  const commands = lines.flatMap((line) => /(?:^|\s)svc ((?:stdio|serve)\b.*)$/.exec(line)?.[1] ?? []);
  expect(commands.length).toBeGreaterThan(0);
  const kinds = commands.map((command) => [command, parseCommandLine(PROGRAM, command.split(' ')).kind]);
  expect(kinds).toEqual(commands.map((command) => [command, 'command']));
});
