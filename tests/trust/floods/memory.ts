import type { Socket } from 'node:net';
import { parseArgs } from 'node:util';
import {
  createReleasers,
  sizeOf,
  startPostgres,
  startService,
  temporaryFolder,
  type Service,
} from '@svc/testkit';
import { answersTo, dialAll } from './connections.ts';

const USAGE = `Usage: npm run test:memory [-- --share N] [--json]

What floods cost the gateway and the agent in memory: idle connections, readers that never read, source addresses,
strangers at the agent endpoint. --share 10 takes a tenth of each (default 1: all). Ends with 1 when memory grew
beyond its bound or something was left. Linux only, since it reads /proc.
`;

const ROWS = 250;
const SQL =
  "create table item (id int primary key, label text); insert into item select i, 'x' from generate_series(1, 1000) i";
const CAPABILITIES = `
capabilities:
  get_item:
    description: One item
    sql: select id from item where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer } }
  large:
    description: A megabyte
    sql: select id, repeat('x', 4000) as label from item order by id limit ${ROWS}
    policy: { max_bytes: 2MB }
    result: { id: { type: integer }, label: { type: string } }
`;

/** What a flood did. */
interface Figures {
  readonly flood: string;
  readonly what: string;
  readonly gatewayMb: readonly [before: number, peak: number, after: number];
  readonly agentMb: readonly [before: number, peak: number, after: number];
  /** Most megabytes that the gateway may grow by. */
  readonly boundMb: number;
  /** Of the gateway, before and when all is over. */
  readonly descriptors: readonly [before: number, after: number];
  /** Calls of an ordinary caller meanwhile: how many, the slowest in milliseconds, how many not answered rightly. */
  readonly calls: readonly [count: number, slowestMs: number, wrong: number];
}

interface Flood {
  readonly name: string;
  readonly boundMb: number;
  /** Goes on for as long as it takes; resolves to what was seen, with nothing of it left open. */
  readonly run: (service: Service, share: number) => Promise<string>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const FLOODS: readonly Flood[] = [
  {
    name: '10,000 idle connections',
    boundMb: 200,
    async run(service, share) {
      const sockets = await dialAll(service.port, 10_000 / share, 'GET /healthz HTTP/1.1\r\nHost: g\r\n\r\n');
      await pause(3000);
      const open = sockets.filter((socket) => !socket.destroyed).length;
      for (const socket of sockets) socket.destroy();
      return `${open} open after one answer each`;
    },
  },
  {
    name: '1,000 readers that never read a megabyte',
    boundMb: 250,
    async run(service, share) {
      const head = `POST /api/v1/capabilities/large HTTP/1.1\r\nHost: g\r\nX-API-Key: ${service.apiKeys['all'] ?? ''}\r\n`;
      const request = `${head}Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
      const sockets = await dialAll(service.port, 1000 / share, request, { reads: false });
      await pause(20_000);
      for (const socket of sockets) socket.destroy();
      return `${sockets.length} asked and read nothing for 20 s`;
    },
  },
  {
    name: '1,000,000 source addresses',
    boundMb: 250,
    async run(service, share) {
      const wanted = 1_000_000 / share;
      const lanes = await dialAll(service.port, 8, '');
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
      return `${next} requests, each from an address of its own`;
    },
  },
  {
    name: '10,000 strangers at the agent endpoint',
    boundMb: 100,
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
      return `${sockets.length} dialled from 200 addresses, ${open} open after 8 s`;
    },
  },
];

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    share: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const { values } = parseArgs({ args: [...args], options, strict: false });
  const share = Number(values.share);
  if (values.help === true || !Number.isInteger(share) || share < 1 || share > 100) {
    (values.help === true ? process.stdout : process.stderr).write(USAGE);
    return values.help === true ? 0 : 2;
  }
  const releasers = createReleasers();
  try {
    const folder = await temporaryFolder('memory');
    await releasers.add(() => folder.remove());
    const postgres = await startPostgres({ folder: folder.path, settings: { fsync: 'off' } });
    await releasers.add(() => postgres.stop());
    await postgres.createDatabase('memory');
    await postgres.execute('memory', SQL);
    const service = await startService({
      database: { ...postgres, name: 'memory' },
      capabilities: CAPABILITIES,
      gatewayEnv: {
        GATEWAY_TRUSTED_PROXY_CIDRS: '127.0.0.1',
        GATEWAY_RATE_LIMIT_REQUESTS_PER_SECOND: '100000',
      },
    });
    await releasers.add(() => service.stop());
    const figures: Figures[] = [];
    for (const flood of FLOODS) {
      process.stderr.write(`${flood.name} ...\n`);
      figures.push(await measure(flood, service, share));
      if (values.json !== true) process.stdout.write(`${lines(figures.at(-1)).join('\n')}\n`);
    }
    if (values.json === true) process.stdout.write(`${JSON.stringify(figures)}\n`);
    const bad = figures.flatMap(faultsOf);
    for (const fault of bad) process.stdout.write(`TOO MUCH: ${fault}\n`);
    return bad.length === 0 ? 0 : 1;
  } finally {
    await releasers.closeAll();
  }
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
      const answer = await service.call('get_item', { id: 7 }).catch(() => undefined);
      calls.count++;
      calls.slowestMs = Math.max(calls.slowestMs, performance.now() - startedAt);
      if (answer?.text !== '{"rows":[{"id":7}],"count":1}') calls.wrong++;
      await pause(20);
    }
  })();
  const what = await flood.run(service, share);
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
    boundMb: flood.boundMb,
    descriptors: [before.descriptors, after],
    calls: [calls.count, calls.slowestMs, calls.wrong],
  };
}

function faultsOf({ flood, gatewayMb, boundMb, descriptors: [before, after] }: Figures): string[] {
  const grown = gatewayMb[1] - gatewayMb[0];
  return [
    ...(grown > boundMb ? [`${flood}: the gateway grew by ${grown.toFixed(0)} MB, bound ${boundMb}`] : []),
    ...(after > before + 5 ? [`${flood}: ${after - before} descriptors were left`] : []),
  ];
}

function lines(figures: Figures | undefined): readonly string[] {
  if (figures === undefined) return [];
  const { flood, what, gatewayMb, agentMb, boundMb, descriptors, calls } = figures;
  const mb = (values: readonly number[]): string => values.map((value) => value.toFixed(0)).join(' / ');
  return [
    `${flood}: ${what}`,
    `  MB before / peak / after: gateway ${mb(gatewayMb)} (may grow by ${boundMb}), agent ${mb(agentMb)}`,
    `  descriptors of the gateway ${descriptors.join(' -> ')}; ${calls[0]} ordinary calls meanwhile, slowest ${calls[1].toFixed(0)} ms, ${calls[2]} not right`,
  ];
}

function requestFrom(number: number): string {
  const address = `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
  return `GET /healthz HTTP/1.1\r\nHost: g\r\nX-Forwarded-For: ${address}\r\n\r\n`;
}
