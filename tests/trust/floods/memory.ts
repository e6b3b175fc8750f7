import type { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { createReleasers, sizeOf, type Service } from '@svc/testkit';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { answersTo, dialAll } from './connections.ts';
import { ITEM, ITEM_ANSWER, startItemService } from './item-service.ts';

const USAGE = `Usage: npm run test:memory [-- --share N] [--json]

What floods cost the gateway and the agent in memory: idle connections, readers that never read, source addresses,
strangers at the agent endpoint. --share 10 takes a tenth of each (1 to 100, default 1: all). Ends with 1 when memory
grew beyond its bound, a flood or an ordinary call beside it was not answered as it should be, or something was left.
Linux only, since it reads /proc.
`;

/** Most megabytes to grow by: with any share of a flood, as V8 and the bounded buffers do, and for the whole more. */
type Bound = readonly [anyway: number, more: number];
const AGENT_BOUND: Bound = [170, 80];
/** Of readers, so many at least must have been given the begin of a result. */
const LEAST_BEGUN = 30;
/** What a flood did. */
interface Figures {
  readonly flood: string;
  readonly what: string;
  readonly gatewayMb: readonly [before: number, peak: number, after: number];
  readonly agentMb: readonly [before: number, peak: number, after: number];
  /** Most megabytes that gateway and agent may grow by. */
  readonly boundsMb: readonly [gateway: number, agent: number];
  /** Of the gateway, before and when all is over. */
  readonly descriptors: readonly [before: number, after: number];
  /** Calls of an ordinary caller meanwhile: how many, the slowest in milliseconds, how many not answered rightly. */
  readonly calls: readonly [count: number, slowestMs: number, wrong: number];
  /** What the flood itself did not find as it should be. */
  readonly unexpected: readonly string[];
}

interface Flood {
  readonly name: string;
  /** Of the gateway. */
  readonly bound: Bound;
  /** Goes on for as long as it takes; resolves with nothing of it left open. */
  readonly run: (service: Service, share: number) => Promise<Seen>;
}

interface Seen {
  readonly what: string;
  /** False when this is not what must be. */
  readonly asExpected: boolean;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const FLOODS: readonly Flood[] = [
  {
    name: '10,000 idle connections',
    bound: [60, 140],
    async run(service, share) {
      const sockets = await dialAll(service.port, 10_000 / share, 'GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n');
      await pause(3000);
      const open = sockets.filter((socket) => !socket.destroyed).length;
      for (const socket of sockets) socket.destroy();
      const what = `${open} of ${sockets.length} open after one answer each`;
      return { what, asExpected: open === sockets.length };
    },
  },
  {
    name: '1,000 readers that never read a megabyte',
    bound: [170, 80],
    async run(service, share) {
      const head = `POST /api/v1/capabilities/large HTTP/1.1\r\nHost: g\r\nX-API-Key: ${service.apiKeys['all'] ?? ''}\r\n`;
      const request = `${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
      const sockets = await dialAll(service.port, 1000 / share, request, { reads: false });
      const begun = sockets.map(statusOf);
      await pause(20_000);
      const statuses = begun.map((status) => status());
      for (const socket of sockets) socket.destroy();
      const count = (...wanted: readonly string[]): number =>
        statuses.filter((status) => wanted.includes(status)).length;
      const [results, refused, waiting] = [count('200'), count('503', '504'), count('')];
      return {
        what: `${sockets.length} asked and read no result for 20 s; 200: ${results}, 503 or 504: ${refused}, none yet: ${waiting}`,
        asExpected:
          results >= Math.min(LEAST_BEGUN, sockets.length) && results + refused + waiting === sockets.length,
      };
    },
  },
  {
    name: '1,000,000 source addresses',
    bound: [170, 80],
    async run(service, share) {
      const wanted = 1_000_000 / share;
      const lanes = await dialAll(service.port, 8, '');
      const right = lanes.map((socket) => countOf(socket, 'HTTP/1.1 200 '));
      let next = 0;
      const lane = async (socket: Socket): Promise<void> => {
        while (next < wanted) {
          const from = next;
          next += 100;
          const requests = Array.from({ length: 100 }, (_, at) => requestFrom(from + at)).join('');
          if (await answersTo(socket, requests, 100)) continue;
          throw new Error('cannot go on: the gateway closed a connection');
        }
      };
      await Promise.all(lanes.map(lane));
      for (const socket of lanes) socket.destroy();
      const served = right.reduce((sum, count) => sum + count(), 0);
      const what = `${next} requests, each from an address of its own; 200: ${served}`;
      return { what, asExpected: served === next };
    },
  },
  {
    name: '10,000 strangers at the agent endpoint',
    bound: [60, 40],
    async run(service, share) {
      const upgrade =
        'GET /ws/agent HTTP/1.1\r\nHost: g\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n' +
        'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: svc-agent.v1\r\n';
      let at = 0;
      const sockets = await dialAll(
        service.port,
        10_000 / share,
        () => `${upgrade}X-Forwarded-For: 10.${++at % 200}.0.1\r\n\r\n`,
      );
      await pause(8000);
      const open = sockets.filter((socket) => !socket.destroyed).length;
      for (const socket of sockets) socket.destroy();
      const what = `${sockets.length} dialled from 200 addresses, ${open} open after 8 s`;
      return { what, asExpected: open === 0 };
    },
  },
];

/** Resolves to the exit code: 0, 1 when a flood did too much, 2 for wrong usage. */
export async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (typeof options === 'number') return options;
  const { share, json } = options;
  const releasers = createReleasers();
  try {
    const service = await startItemService(releasers, {
      GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
    });
    const figures: Figures[] = [];
    for (const flood of FLOODS) {
      process.stderr.write(`${flood.name} ...\n`);
      figures.push(await measure(flood, service, share));
      if (!json) process.stdout.write(`${lines(figures.at(-1)).join('\n')}\n`);
    }
    if (json) process.stdout.write(`${JSON.stringify(figures)}\n`);
    const bad = figures.flatMap(faultsOf);
    for (const fault of bad) process.stderr.write(`TOO MUCH: ${fault}\n`);
    return bad.length === 0 ? 0 : 1;
  } finally {
    await releasers.closeAll();
  }
}

/** The exit code for help and wrong usage. */
function readOptions(args: readonly string[]): { readonly share: number; readonly json: boolean } | 0 | 2 {
  const options = {
    share: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  return readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return { share: wholeNumber('share', values.share, 100), json: values.json };
  });
}

async function measure(flood: Flood, service: Service, share: number): Promise<Figures> {
  const { gateway } = service;
  const agent = service.agents[0] ?? gateway;
  const rssMb = async (process: { readonly pid: number }): Promise<number> =>
    (await sizeOf(process)).megabytes;
  const descriptors = async (): Promise<number> => (await sizeOf(gateway)).descriptors;
  const before = {
    gateway: await rssMb(gateway),
    agent: await rssMb(agent),
    descriptors: await descriptors(),
  };
  const peak = { gateway: 0, agent: 0 };
  let over = false;
  const watching = (async () => {
    while (!over) {
      peak.gateway = Math.max(peak.gateway, await rssMb(gateway));
      peak.agent = Math.max(peak.agent, await rssMb(agent));
      await pause(100);
    }
  })();
  const calls = { count: 0, slowestMs: 0, wrong: 0 };
  const calling = (async () => {
    while (!over) {
      const startedAt = performance.now();
      const answer = await service.call('get_item', { id: ITEM }).catch(() => undefined);
      calls.count++;
      calls.slowestMs = Math.max(calls.slowestMs, performance.now() - startedAt);
      if (answer?.text !== ITEM_ANSWER) calls.wrong++;
      await pause(20);
    }
  })();
  const { what, asExpected } = await flood.run(service, share);
  over = true;
  await Promise.all([watching, calling]);
  let after = await descriptors();
  // Idle connections of our own calls stay for a while.
  for (let waited = 0; after > before.descriptors + 5 && waited < 10_000; waited += 200) {
    await pause(200);
    after = await descriptors();
  }
  return {
    flood: flood.name,
    what,
    gatewayMb: [before.gateway, peak.gateway, await rssMb(gateway)],
    agentMb: [before.agent, peak.agent, await rssMb(agent)],
    boundsMb: [megabytesOf(flood.bound, share), megabytesOf(AGENT_BOUND, share)],
    descriptors: [before.descriptors, after],
    calls: [calls.count, calls.slowestMs, calls.wrong],
    unexpected: asExpected ? [] : [what],
  };
}

function megabytesOf([anyway, more]: Bound, share: number): number {
  return anyway + more / share;
}

function faultsOf(figures: Figures): string[] {
  const { flood, gatewayMb, agentMb, boundsMb, unexpected, calls } = figures;
  const [before, after] = figures.descriptors;
  const grown = (who: string, [from, peak]: Figures['gatewayMb'], boundMb: number): string[] =>
    peak - from > boundMb
      ? [`the ${who} grew by ${(peak - from).toFixed(0)} MB, bound ${boundMb.toFixed(0)}`]
      : [];
  const faults = [
    ...unexpected,
    ...grown('gateway', gatewayMb, boundsMb[0]),
    ...grown('agent', agentMb, boundsMb[1]),
    ...(after > before + 5 ? [`${after - before} descriptors were left`] : []),
    ...(calls[2] > 0 ? [`${calls[2]} of ${calls[0]} ordinary calls were not answered rightly`] : []),
  ];
  return faults.map((fault) => `${flood}: ${fault}`);
}

function lines(figures: Figures | undefined): readonly string[] {
  if (figures === undefined) return [];
  const { flood, what, gatewayMb, agentMb, boundsMb, descriptors, calls } = figures;
  const mb = (values: readonly number[]): string => values.map((value) => value.toFixed(0)).join(' / ');
  return [
    `${flood}: ${what}`,
    `  MB before / peak / after: gateway ${mb(gatewayMb)}, agent ${mb(agentMb)}; may grow by ${mb(boundsMb)}`,
    `  descriptors of the gateway ${descriptors.join(' -> ')}; ${calls[0]} ordinary calls meanwhile, slowest ${calls[1].toFixed(0)} ms, ${calls[2]} not right`,
  ];
}

/** Takes no more of the answer than its status, which is '' until it has come. */
function statusOf(socket: Socket): () => string {
  const start = 'HTTP/1.1 200'.length;
  let status = '';
  const onReadable = (): void => {
    const bytes: unknown = socket.read(start);
    if (!Buffer.isBuffer(bytes)) return;
    status = bytes.toString('latin1').slice(-3);
    socket.off('readable', onReadable);
  };
  socket.on('readable', onReadable);
  return () => status;
}

/** How often a text has come on a connection since. */
function countOf(socket: Socket, text: string): () => number {
  let count = 0;
  let rest = '';
  socket.on('data', (data: Buffer) => {
    const seen = rest + data.toString('latin1');
    count += seen.split(text).length - 1;
    rest = seen.slice(1 - text.length);
  });
  return () => count;
}

function requestFrom(number: number): string {
  const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  return `GET /healthz HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: ${address}\r\n\r\n`;
}
