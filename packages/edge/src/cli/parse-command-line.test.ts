import { expect, test } from 'vitest';
import type { ProgramSpec } from './command-table.ts';
import { parseCommandLine } from './parse-command-line.ts';
import { renderHelp } from './render-help.ts';

export const SAMPLE: ProgramSpec = {
  name: 'prog',
  run: { does: 'Run it.', flags: { config: { value: 'path', does: 'The file.', suggest: 'file' } } },
  commands: {
    check: {
      does: 'Check it. Twice.',
      flags: {
        file: { value: 'path', does: 'F.', suggest: 'file' },
        offline: { does: 'Alone.' },
        json: { does: 'As JSON.' },
      },
    },
    try: {
      does: 'Call one.',
      aliases: ['call'],
      operands: [{ name: 'capability', does: 'Which one.' }],
      flags: {
        param: { value: 'name=value', short: 'p', mayRepeat: true, does: 'One parameter.' },
        as: { value: 'key', isRequired: true, does: 'Who calls.' },
      },
    },
    test: {
      does: 'Test some.',
      flags: {},
      operands: [{ name: 'capability', does: 'Which ones.', isOptional: true, mayRepeat: true }],
    },
  },
  notes: 'Notes.\n',
};
const parse = (line: string) => parseCommandLine(SAMPLE, line.split(' ').filter(Boolean));

test.each([
  ['', undefined, {}, []],
  ['--config a.yaml', undefined, { config: ['a.yaml'] }, []],
  ['--config=--a', undefined, { config: ['--a'] }, []],
  ['--offline check --json', 'check', { config: [] }, []],
  ['try films -p a=1 -p b=-2 --as=me', 'try', { param: ['a=1', 'b=-2'], as: ['me'] }, ['films']],
  ['call films --as me', 'try', { as: ['me'] }, ['films']],
  ['test', 'test', {}, []],
  ['test a b c', 'test', {}, ['a', 'b', 'c']],
])('%j is understood', (line, name, flags, operands) => {
  const parsed = parse(line);
  if (parsed.kind !== 'command') throw new Error(JSON.stringify(parsed));
  expect(parsed.name).toBe(name);
  expect(parsed.given.operands).toEqual(operands);
  for (const [flag, values] of Object.entries(flags)) expect(parsed.given.values(flag)).toEqual(values);
  expect(parsed.given.has('json')).toBe(line.includes('--json'));
});

test.each([
  ['-h', { kind: 'help', command: undefined }],
  ['help', { kind: 'help', command: undefined }],
  ['help call', { kind: 'help', command: 'try' }],
  ['try --help', { kind: 'help', command: 'try' }],
  ['check -v', { kind: 'version' }],
  ['completion zsh', { kind: 'completion', shell: 'zsh' }],
])('%j is %j', (line, parsed) => {
  expect(parse(line)).toEqual(parsed);
});

test.each([
  ['chek', 'unknown command "chek": did you mean `check`?'],
  ['help chek', 'unknown command "chek": did you mean `check`?'],
  ['a.yaml', 'unknown command "a.yaml": see `prog --help`'],
  ['--confg a.yaml', 'unknown flag "--confg": did you mean `--config`?'],
  ['check --jsno', 'unknown flag "--jsno": did you mean `--json`?'],
  ['-x', 'unknown flag "-x": see `prog --help`'],
  ['--config', '`--config` needs a value: <path>'],
  ['--config=', '`--config` needs a value: <path>'],
  ['--config --version', '`--config` needs a value: <path>'],
  ['--config a --config b', '`--config` is given twice'],
  ['--offline', 'prog without a command takes no `--offline`'],
  ['check --config a', '`check` takes no `--config`'],
  ['check --offline=yes', '`--offline` takes no value'],
  ['check more', 'unexpected argument "more": name a file with `--file`'],
  ['try --as me', '`try` needs <capability>'],
  ['try films', '`try` needs `--as <key>`'],
  ['completion', '`completion` needs <shell>'],
  ['completion csh', 'no completion for "csh": bash, zsh and fish have one'],
])('%j is wrong usage', (line, message) => {
  expect(parse(line)).toEqual({ kind: 'usage_error', message });
});

test('the help of the whole names every command once, that of a command its flags', () => {
  const all = renderHelp(SAMPLE, undefined);
  for (const usage of [
    'prog [--config <path>]',
    'prog check [--file <path>] [--offline] [--json]',
    'prog test [<capability>...]',
  ])
    expect(all.split(`  ${usage}\n`).length).toBe(2);
  expect(all).toContain('  prog try <capability> [-p <name=value>]... --as <key>\n');
  expect(all).toContain('      Check it.\n');
  expect(all.endsWith('\nNotes.\n')).toBe(true);
  const one = renderHelp(SAMPLE, 'try');
  for (const text of [
    'Also called: call.',
    '  <capability>\n      Which one.\n',
    '  -p, --param <name=value>\n      One parameter. May be repeated.\n',
    '  -h, --help\n',
  ])
    expect(one).toContain(text);
});
