import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createRandom, pick, SVC, withClient } from '@svc/testkit';
import type { Place } from './library.testing.ts';

const LIFE_MS = 2000;
const AT_ONCE = 3;

/** How the command is started: by the client itself, by a shell that stays, or by npm, which is Node.js and a shell. */
const LAUNCHERS = ['direct', 'shell', 'npm exec'] as const;
/** What the client has asked for when it dies. */
const STATES = ['nothing', 'a handshake', 'calls'] as const;

interface Query {
  readonly query: string;
  readonly wait_event: string | null;
}

interface Attack {
  readonly launcher: (typeof LAUNCHERS)[number];
  readonly state: (typeof STATES)[number];
  /** Another process holds the client's ends of the pipes. */
  readonly hasSibling: boolean;
  readonly victim: 'parent' | 'svc';
  readonly afterMs: number;
}

export interface KilledParentsReport {
  readonly seed: number;
  readonly killed: number;
  /** How many of them were killed amid calls of which the database was working on one. */
  readonly amidCalls: number;
  readonly withSibling: number;
  readonly svcKilled: number;
  /** The longest time from the kill until no process was left, in milliseconds. */
  readonly slowestMs: number;
  readonly wrong: readonly string[];
}

export interface KilledParentsOptions {
  readonly parents: number;
  readonly seed: number;
  readonly file: string;
  readonly database: Place;
  /** When all must be gone: 2.5 s after the parent, or `svc` itself, was killed, if the machine is quiet. */
  readonly withinMs: number;
  readonly progress?: (done: number) => void;
}

/**
 * The client: starts the command, speaks to it, writes `answered` at the first answer. The launcher between is a process
 * that calls itself as npm does, starts a shell and waits for it.
 */
const CLIENT = `
const { spawn } = require('node:child_process');
const { launcher, state, hasSibling, command } = JSON.parse(process.argv[1]);
const quoted = command.map((word) => "'" + word + "'").join(' ');
const npm = "process.title='npm exec svc';require('node:child_process').spawn('sh',['-c',process.argv[1]],{stdio:'inherit'}).on('exit',(code)=>process.exit(code))";
const [program, ...words] =
  launcher === 'direct' ? command
  : launcher === 'shell' ? ['sh', '-c', quoted + '; exit $?']
  : [process.execPath, '-e', npm, quoted + '; exit $?'];
const child = spawn(program, words, { stdio: ['pipe', 'pipe', 'ignore'] });
if (hasSibling) spawn('sleep', ['6'], { stdio: [child.stdin, child.stdout, 'ignore'], env: {}, detached: true }).unref();
child.stdout.once('data', () => process.stdout.write('answered\\n')).resume();
const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n');
send({ id: 'p', method: 'ping' });
if (state !== 'nothing') {
  send({ id: 'i', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } } });
  send({ method: 'notifications/initialized' });
}
if (state === 'calls')
  for (let n = 0; n < 4; n += 1)
    send({ id: n, method: 'tools/call', params: { name: n % 2 ? 'get_book' : 'sleep', arguments: n % 2 ? { id: 7 } : { seconds: 50 } } });
`;

/** Processes with the mark in their environment. */
async function processesOf(mark: string): Promise<readonly number[]> {
  const found: number[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
    // What has ended and is not collected yet has no environment any more.
    if (environment.includes(`SVC_TEST_MARK=${mark}\0`)) found.push(Number(name));
  }
  return found;
}

async function commandOf(pid: number): Promise<string> {
  return (await readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => ''))
    .replaceAll('\0', ' ')
    .slice(0, 120);
}

/** Kills parents, or `svc` itself, at random times of up to two seconds after the start. Linux only. */
export async function killParents({
  parents,
  seed,
  file,
  database,
  withinMs,
  progress = () => {},
}: KilledParentsOptions): Promise<KilledParentsReport> {
  const random = createRandom(seed);
  const attacks = Array.from({ length: parents }, (): Attack => ({
    launcher: pick(random, LAUNCHERS),
    state: pick(random, STATES),
    hasSibling: random() < 0.4,
    victim: random() < 0.25 ? 'svc' : 'parent',
    afterMs: random() * LIFE_MS,
  }));
  const wrong: string[] = [];
  let [killed, amidCalls, slowestMs] = [0, 0, 0];

  /** The queries of the agents. */
  async function active(): Promise<readonly Query[]> {
    const sql = `select query, wait_event from pg_stat_activity
      where datname = $1 and state = 'active' and application_name <> ''`;
    return await withClient(
      database,
      'postgres',
      async (client) => (await client.query<Query>(sql, [database.name])).rows,
    );
  }

  async function attack(what: Attack, mark: string): Promise<void> {
    const order = { ...what, command: [process.execPath, SVC, 'stdio', '--config', file] };
    const client = spawn(process.execPath, ['-e', CLIENT, JSON.stringify(order)], {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], SVC_TEST_MARK: mark },
    });
    const answered = once(client.stdout, 'data');
    await once(client, 'spawn');
    await pause(what.afterMs);
    // A parent that was gone before `svc` first looked is noticed by the pipe alone, which the sibling holds.
    if (what.hasSibling && what.victim === 'parent') await answered;
    if (what.victim === 'svc') await killSvc(mark);
    else client.kill('SIGKILL');
    const killedAt = performance.now();
    killed += 1;
    let left = await processesOf(mark);
    const others = (pids: readonly number[]): readonly number[] =>
      what.victim === 'svc' ? pids.filter((pid) => pid !== client.pid) : pids;
    while (others(left).length > 0 && performance.now() - killedAt < withinMs) {
      await pause(25);
      left = await processesOf(mark);
    }
    const lasted = performance.now() - killedAt;
    slowestMs = Math.max(slowestMs, lasted);
    if (others(left).length > 0) {
      const commands = await Promise.all(others(left).map(commandOf));
      wrong.push(`${JSON.stringify(what)}: left after ${withinMs} ms: ${commands.join('; ')}`);
    }
    client.kill('SIGKILL');
    for (const pid of left) kill(pid);
  }

  async function killSvc(mark: string): Promise<void> {
    for (;;) {
      for (const pid of await processesOf(mark)) {
        const command = await commandOf(pid);
        if (command.includes(`${SVC} stdio`) && !/ (?:sh|-e|-c) /.test(command)) return kill(pid);
      }
      await pause(10);
    }
  }

  let made = 0;
  for (let at = 0; at < attacks.length; at += AT_ONCE) {
    const wave = attacks.slice(at, at + AT_ONCE);
    const isOver = new AbortController();
    const watched = (async () => {
      let most = 0;
      while (!isOver.signal.aborted) {
        most = Math.max(most, (await active()).filter(({ wait_event }) => wait_event === 'PgSleep').length);
        await pause(100);
      }
      return most;
    })();
    const running = wave.map((what) => attack(what, `${process.pid}-${(made += 1)}`));
    await Promise.all(running);
    const endedAt = performance.now();
    let queries = await active();
    // The last may have been killed just now.
    while (queries.length > 0 && performance.now() - endedAt < withinMs) {
      await pause(50);
      queries = await active();
    }
    if (queries.length > 0)
      wrong.push(`queries that still run: ${queries.map(({ query }) => query).join('; ')}`);
    isOver.abort();
    amidCalls += await watched;
    progress(Math.min(at + AT_ONCE, attacks.length));
  }
  return {
    seed,
    killed,
    amidCalls,
    withSibling: attacks.filter(({ hasSibling }) => hasSibling).length,
    svcKilled: attacks.filter(({ victim }) => victim === 'svc').length,
    slowestMs: Math.round(slowestMs),
    wrong,
  };
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended meanwhile.
  }
}
