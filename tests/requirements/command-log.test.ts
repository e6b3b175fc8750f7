import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runProcess, smallDisk, testDatabase, type TestDatabase } from '@svc/testkit';
import { renderHelp } from '../../packages/edge/src/cli/render-help.ts';
import { PROGRAM } from '../../packages/agent/src/cli/program.ts';
import { startStation, type Station } from './station.testing.ts';

const id = { id: { type: 'integer' } };
const CAPABILITIES = {
  sound: { description: 'One.', sql: 'select 1 as id', result: id },
  fails: { description: 'None.', sql: 'select 1 / (id - 1) as id from book', result: id },
};
const BROKEN = { broken: { description: 'None.', sql: 'select id from nowhere', result: id } };
/** Of the database, and of no message. */
const WORDS = 'relation "nowhere" does not exist';
const FAILS_AT_CALL = 'SQLSTATE 22012';

let database: TestDatabase;
let station: Station;
let folder: string;
beforeAll(async () => {
  database = await testDatabase({ sql: ['create table book (id int)', 'insert into book values (1)'] });
  station = await startStation(database);
  folder = await station.folder({
    'capability.yaml': station.file({ capabilities: { ...CAPABILITIES, ...BROKEN } }),
    'sound.yaml': station.file({ capabilities: CAPABILITIES }),
    'nowhere.sql': 'select id from nowhere',
  });
});
afterAll(() => station.stop());
let before: readonly string[];
beforeEach(async () => {
  await rm(join(folder, 'some.log'), { force: true });
  before = await readdir(folder);
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function agent(...args: readonly string[]): Promise<Ran> {
  const { code, stdout, stderr } = await runProcess(join(folder, 'svc-agent'), args, { cwd: folder });
  return { code, stdout, stderr };
}

/** With standard output at a terminal, and standard error elsewhere. */
async function atTerminal(...args: readonly string[]): Promise<Ran> {
  const file = join(folder, '..', 'stderr.txt');
  const line = `./svc-agent ${args.join(' ')} 2>${file}`;
  const { code, stdout } = await runProcess('script', ['-qec', line, '/dev/null'], { cwd: folder });
  return { code, stdout: stdout.replaceAll('\r\n', '\n'), stderr: await readFile(file, 'utf8') };
}

async function logged(): Promise<Record<string, unknown>[]> {
  const text = await readFile(join(folder, 'some.log'), 'utf8');
  expect(text).toMatch(/\n$/);
  return text
    .trimEnd()
    .split('\n')
    .map((line): Record<string, unknown> => JSON.parse(line));
}

type Case = readonly [command: string, args: readonly string[], code: number, words: string];
const CASES: readonly Case[] = [
  ['check', [], 2, WORDS],
  ['check --offline', ['--config', 'unparsed.yaml'], 2, 'syntax error'],
  ['lint', [], 2, WORDS],
  ['test', [], 2, WORDS],
  ['try', ['broken'], 2, WORDS],
  ['try', ['fails', '--config', 'sound.yaml'], 1, FAILS_AT_CALL],
  ['add', ['another', '--sql-file', 'nowhere.sql', '--config', 'sound.yaml'], 2, WORDS],
];
beforeAll(async () => {
  const capabilities = { wrong: { ...BROKEN.broken, sql: 'select id frm book' } };
  await writeFile(join(folder, 'unparsed.yaml'), station.file({ capabilities }));
});

describe.each(CASES)(
  'svc-agent %s %j',
  { tags: ['command:log', 'file:start-up-silence'] },
  (command, args, code, words) => {
    const line = [...command.split(' '), ...args];

    test('tells no words of the database where nobody asks for them, and how to see them', async () => {
      const ran = await agent(...line);
      expect(ran.code).toBe(code);
      const said = ran.stdout + ran.stderr;
      expect(said).not.toContain(words);
      expect(said.split('\n').filter((each) => each.startsWith('Details: '))).toEqual([
        expect.stringMatching(/`--log FILE`.* terminal/),
      ]);
      expect(await readdir(folder)).toEqual(before);
    });

    test('--log has them, and --json is one document without them', async () => {
      const ran = await agent(...line, '--json', '--log', 'some.log');
      expect(ran).toMatchObject({ code, stderr: '' });
      expect(ran.stdout).not.toContain(words);
      expect(JSON.parse(ran.stdout)).toMatchObject({ ok: false, log: 'some.log' });
      expect((await logged()).map(({ detail }) => detail)).toContainEqual(expect.stringContaining(words));
      expect((await stat(join(folder, 'some.log'))).mode & 0o777).toBe(0o600);
      expect(await readdir(folder)).toEqual([...before, 'some.log'].toSorted());
    });

    test.skipIf(!existsSync('/usr/bin/script'))('a terminal shows them below the fault', async () => {
      const ran = await atTerminal(...line);
      expect(ran.code).toBe(code);
      expect(ran.stdout).toMatch(new RegExp(`^ {4}.*${words}`, 'm'));
      expect(ran.stdout).not.toContain('Details:');
      expect(ran.stderr).not.toContain(words);
      expect(await readdir(folder)).toEqual(before);
    });
  },
);

describe('--log', { tags: ['command:log'] }, () => {
  const check = ['check', '--log', 'some.log'];

  test('appends to a file, and leaves its mode', async () => {
    await writeFile(join(folder, 'some.log'), '{"before":true}\n');
    await chmod(join(folder, 'some.log'), 0o640);
    expect((await agent(...check)).stdout).toMatch(/^Details: some\.log$/m);
    const tried = await agent('try', 'fails', '--config', 'sound.yaml', '--log', 'some.log');
    expect(tried.stderr).toMatch(/^Details: some\.log$/m);
    expect(await logged()).toEqual([
      { before: true },
      expect.objectContaining({ event: 'startup_fault', detail: WORDS, hint: 'line 1 of the SQL' }),
      expect.objectContaining({ event: 'call', detail: expect.stringContaining(FAILS_AT_CALL) }),
    ]);
    expect((await stat(join(folder, 'some.log'))).mode & 0o777).toBe(0o640);
  });

  test('takes the lines of commands at the same time', async () => {
    const runs = Array.from({ length: 6 }, () => agent(...check));
    expect((await Promise.all(runs)).map(({ code }) => code)).toEqual(runs.map(() => 2));
    expect((await logged()).map(({ detail }) => detail)).toEqual(runs.map(() => WORDS));
  });

  test('is a fault if its file cannot be opened, before anything else is done', async () => {
    await mkdir(join(folder, 'a-folder'), { recursive: true });
    for (const [file, why] of [
      ['a-folder', 'it is a folder'],
      ['none/some.log', 'its folder does not exist'],
      ['capability.yaml/some.log', 'a part of its path is a file'],
    ] as const) {
      const problem = `cannot open ${file}, which \`--log\` names: ${why}`;
      expect(await agent('check', '--log', file)).toEqual({
        code: 2,
        stdout: '',
        stderr: `svc-agent: ${problem}\n`,
      });
    }
    await rm(join(folder, 'a-folder'), { recursive: true });
  });

  test('says so if its disk is full, and the report is whole', async (context) => {
    const disk = await smallDisk();
    if (typeof disk === 'string') return context.skip(disk);
    try {
      await disk.fill(0);
      const file = join(disk.path, 'some.log');
      const { code, stdout, stderr } = await agent('check', '--log', file);
      expect(code).toBe(2);
      expect(stdout).toContain('capabilities.broken.sql: is refused by the database');
      expect(stderr).toContain(`svc-agent: cannot write ${file}: ENOSPC`);
      expect(stderr).toContain(`cannot write ${file} to its end: up to 1 record is lost`);
    } finally {
      await disk.remove();
    }
  });

  test('has the calls of `test`, with what the database says of one that fails', async () => {
    const capabilities = { fails: { ...CAPABILITIES.fails, examples: [{ expect: { count: 1 } }] } };
    await writeFile(join(folder, 'examples.yaml'), station.file({ capabilities }));
    const { code } = await agent('test', '--config', 'examples.yaml', '--log', 'some.log');
    expect(code).toBe(3);
    expect(await logged()).toContainEqual(
      expect.objectContaining({ event: 'call', detail: expect.stringContaining(FAILS_AT_CALL) }),
    );
  });

  test.each(['check', 'lint', 'test', 'try', 'add', 'init', 'dev'])(
    'of %s says in its help that values may stand there',
    (command) => {
      const help = renderHelp(PROGRAM, command).replaceAll(/\s+/g, ' ');
      expect(help).toMatch(/--log <path> .* may contain values/);
    },
  );
});

test(
  'the log of a running agent in the same folder is its own',
  { tags: ['command:log', 'command:svc-agent'] },
  async () => {
    const running = await station.agent(station.file(), {
      files: {
        'broken.yaml': station.file({ capabilities: BROKEN }),
        'nowhere.sql': 'select id from nowhere',
      },
    });
    const log = join(running.folder, 'svc-agent.log');
    const records = await readFile(log, 'utf8');
    const config = ['--config', 'broken.yaml'];
    for (const args of [
      ['check'],
      ['lint'],
      ['test'],
      ['try', 'broken'],
      ['add', 'x', '--sql-file', 'nowhere.sql'],
    ]) {
      const command = join(running.folder, 'svc-agent');
      const { code } = await runProcess(command, [...args, ...config], { cwd: running.folder });
      expect(code).toBe(2);
    }
    expect(await readFile(log, 'utf8')).toBe(records);
    await running.stop();
  },
);
