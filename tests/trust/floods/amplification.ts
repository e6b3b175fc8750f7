import { parseArgs } from 'node:util';
import {
  ask,
  cpuMicroseconds,
  COST_AS_CREATED,
  createAgentSecret,
  createKey,
  gatewaySettings,
  sizeOf,
  startGateway,
  type CreatedKey,
  type StartedGateway,
} from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { startAttacker } from './attack.ts';
import type { Attack, Spent } from './attacker.ts';
import { assaults, type Assault } from './surfaces.ts';

const USAGE = `Usage: npm run test:amplification [-- --seconds S] [--only TEXT] [--json]

What somebody without a key can make the gateway spend, for what it costs to send: CPU against the attacker's CPU,
memory against bytes sent. A fresh gateway without a rate limit for each way, S seconds long (default 12). --only takes
the ways whose name has this text. Ends with 1 when one of them is amplified more than 100 times. Linux only.
`;

/** The promise of SECURITY.md. */
const MOST = 100;
const BUSY_MS = 2000;
const BYTES_OF_MB = 1024 * 1024;

interface Figures {
  readonly surface: Assault['surface'];
  readonly title: string;
  readonly requests: number;
  readonly bytes: number;
  /** Of the gateway, and the same of the attacker. */
  readonly cpuMs: readonly [gateway: number, attacker: number];
  /** Of the gateway, for each byte sent. */
  readonly cpuNsPerByte: number;
  readonly grownMb: number;
  readonly cpuRatio: number;
  /** Bytes of memory for each byte sent. */
  readonly memoryRatio: number;
}

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    seconds: { type: 'string', default: '12' },
    only: { type: 'string', default: '' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return { seconds: wholeNumber('seconds', values.seconds, 60), only: values.only, json: values.json };
  });
  if (typeof read === 'number') return read;
  const { seconds, only, json } = read;
  const all: Figures[] = [];
  const key = await createKey('all', '*', { cost: COST_AS_CREATED });
  const chosen = assaults(key.api_key).filter(({ title }) => title.includes(only));
  if (chosen.length === 0) {
    process.stderr.write(`cannot start: no way has "${only}" in its name\n`);
    return 2;
  }
  if (!json) process.stdout.write(HEAD);
  for (const assault of chosen) {
    const figures = await measure(assault, key.record, seconds);
    all.push(figures);
    if (!json) process.stdout.write(line(figures));
  }
  if (json) process.stdout.write(`${JSON.stringify(all)}\n`);
  const above = all.filter(({ cpuRatio, memoryRatio }) => !(Math.max(cpuRatio, memoryRatio) <= MOST));
  for (const { title } of above) process.stderr.write(`above ${MOST} times: ${title}\n`);
  return above.length === 0 ? 0 : 1;
}

async function measure(
  { surface, title, keyIds, ...how }: Assault,
  record: CreatedKey['record'],
  seconds: number,
): Promise<Figures> {
  const { agent_public_key } = createAgentSecret();
  const gateway = await startGateway(
    gatewaySettings(agent_public_key, [keyIds ? record : { ...record, key_id: undefined }]),
  );
  const attacker = await startAttacker();
  try {
    await warmUp(gateway, how.way);
    const { process: attacked } = gateway;
    const before = await cpuMicroseconds(attacked);
    const { spent, grownMb } = await whileWatching(attacked, () =>
      attacker.run({ ...how, port: gateway.port, seconds }),
    );
    const cpu = (await cpuMicroseconds(attacked)) - before;
    return {
      surface,
      title,
      requests: spent.requests,
      bytes: spent.bytes,
      cpuMs: [cpu / 1000, spent.cpuMicroseconds / 1000],
      cpuNsPerByte: (cpu * 1000) / spent.bytes,
      grownMb,
      cpuRatio: cpu / spent.cpuMicroseconds,
      memoryRatio: (grownMb * BYTES_OF_MB) / spent.bytes,
    };
  } finally {
    attacker.stop();
    await gateway.process.stop();
  }
}

/**
 * What only makes work is measured on a gateway that has been busy: the room that V8 gives any load is not the
 * attacker's doing. What keeps memory is measured on one that has served a few hundred requests only, so that nothing
 * kept hides in that room.
 */
async function warmUp({ port }: StartedGateway, way: Attack['way']): Promise<void> {
  const busyUntil = performance.now() + (way === 'held' ? 0 : BUSY_MS);
  const url = `http://127.0.0.1:${port}/healthz`;
  const caller = async (): Promise<void> => {
    for (let request = 0; request < 50 || performance.now() < busyUntil; request++) await ask(url);
  };
  await Promise.all(Array.from({ length: 8 }, caller));
}

/** How much the process has grown by at most. */
async function whileWatching(
  watched: { readonly pid: number },
  work: () => Promise<Spent>,
): Promise<{ readonly spent: Spent; readonly grownMb: number }> {
  const before = (await sizeOf(watched)).megabytes;
  let most = before;
  // The attack itself tells of it.
  const ended = (): void => {};
  const timer = setInterval(() => {
    void sizeOf(watched).then(({ megabytes }) => (most = Math.max(most, megabytes)), ended);
  }, 20);
  try {
    const spent = await work();
    return { spent, grownMb: most - before };
  } finally {
    clearInterval(timer);
  }
}

const COLUMNS = [11, 44, 9, 9, 11, 8, 7, 8, 9, 9];
const HEAD = row([
  'surface',
  'way',
  'requests',
  'KB sent',
  'gateway ms',
  'sender',
  'ns/byte',
  'CPU x',
  'grown MB',
  'memory x',
]);

function line({
  surface,
  title,
  requests,
  bytes,
  cpuMs,
  cpuNsPerByte,
  grownMb,
  cpuRatio,
  memoryRatio,
}: Figures): string {
  const counts = [requests, bytes / 1024, ...cpuMs, cpuNsPerByte].map((value) => value.toFixed(0));
  return row([surface, title, ...counts, cpuRatio.toFixed(1), grownMb.toFixed(1), memoryRatio.toFixed(1)]);
}

function row(cells: readonly string[]): string {
  const padded = cells.map((cell, at) =>
    at < 2 ? cell.padEnd(COLUMNS[at] ?? 0) : cell.padStart(COLUMNS[at] ?? 0),
  );
  return `${padded.join(' ')}\n`;
}
