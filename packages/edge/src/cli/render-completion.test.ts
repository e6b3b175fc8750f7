import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { ProgramSpec, Shell } from './command-table.ts';
import { renderCompletion } from './render-completion.ts';

const PROGRAM: ProgramSpec = {
  name: 'my-prog',
  run: {
    does: 'Run it.',
    flags: { config: { value: 'path', does: "The user's file: [one].", suggest: 'file' } },
  },
  commands: {
    check: { does: 'Check it.', flags: { json: { does: 'As JSON.' } } },
    diff: {
      does: 'Compare.',
      operands: [
        { name: 'old', does: 'Before.', suggest: 'file' },
        { name: 'new', does: 'After.', suggest: 'file' },
      ],
      flags: { 'fail-on': { value: 'level', does: 'When to fail.', suggest: ['breaking', 'risky'] } },
    },
  },
  notes: '',
};

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'completion-'));
  writeFileSync(join(folder, 'one file.yaml'), '');
  mkdirSync(join(folder, 'other'));
});
afterAll(() => rmSync(folder, { recursive: true }));

function isInstalled(shell: Shell): boolean {
  try {
    execFileSync(shell, ['-c', 'true']);
    return true;
  } catch {
    return false;
  }
}

describe('bash', { skip: !isInstalled('bash') }, () => {
  test.each([
    [[''], ['check', 'diff', 'completion', 'help', '--config', '--help', '--version']],
    [['ch'], ['check']],
    [['--c'], ['--config']],
    [
      ['check', '--'],
      ['--json', '--help', '--version'],
    ],
    [['diff', '--fail-on', 'r'], ['risky']],
    [
      ['diff', 'o'],
      ['one file.yaml', 'other'],
    ],
    [['--config', 'one'], ['one file.yaml']],
    [['completion', 'z'], ['zsh']],
    [['help', 'di'], ['diff']],
  ])('offers for %j', (words, offered) => {
    const script = `${renderCompletion(PROGRAM, 'bash')}
      COMP_WORDS=(my-prog "$@"); COMP_CWORD=$#; _my_prog; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const output = execFileSync('bash', ['-c', script, 'bash', ...words], { cwd: folder, encoding: 'utf8' });
    expect(output.trimEnd().split('\n')).toEqual(offered);
  });

  test('leaves the shell as it was', () => {
    const script = `${renderCompletion(PROGRAM, 'bash')}
      COMP_WORDS=(my-prog diff o); COMP_CWORD=2; _my_prog; printf %q "$IFS"`;
    expect(execFileSync('bash', ['-c', script], { cwd: folder, encoding: 'utf8' })).toBe("$' \\t\\n'");
  });
});

describe('fish', { skip: !isInstalled('fish') }, () => {
  test.each([
    ['', ['check', 'completion', 'diff', 'help']],
    ['check --', ['--help', '--json', '--version']],
    ['diff --fail-on r', ['risky']],
    ['--config one', ['one file.yaml']],
  ])('offers for %j', (words, offered) => {
    const file = join(folder, 'my-prog.fish');
    writeFileSync(file, renderCompletion(PROGRAM, 'fish'));
    const ask = `source ${file}; complete -C'my-prog ${words}'`;
    const output = execFileSync('fish', ['--no-config', '-c', ask], { cwd: folder, encoding: 'utf8' });
    const lines = output.trimEnd().split('\n');
    expect(lines.map((line) => line.split('\t')[0])).toEqual(offered);
  });
});

test.each<Shell>(['bash', 'zsh', 'fish'])('%s can read its script', (shell) => {
  const script = renderCompletion(PROGRAM, shell);
  for (const word of ['check', 'diff', 'fail-on', 'breaking']) expect(script).toContain(word);
  if (!isInstalled(shell)) return;
  execFileSync(shell, ['-n', '-c', script]);
});
