import { Agent, request } from 'node:http';
import { parseArgs } from 'node:util';
import { cpuMicroseconds, createReleasers, type Service } from '@svc/testkit';
import { quantile } from '../../../bench/report/statistics.ts';
import { readOrUsage, wholeNumber } from '../read-or-usage.ts';
import { startAttacker } from './attack.ts';
import { ITEM, ITEM_ANSWER, startItemService } from './item-service.ts';
import { unknownKeys } from './surfaces.ts';

const USAGE = `Usage: npm run test:cached-keys [-- --rounds N --seconds S --flood R] [--json]

Whether a flood of keys that the gateway does not know slows down the callers whose keys it has checked: p99 of calls
through gateway, agent and database, without the flood and with R wrong keys a second (default 1000), in N interleaved
rounds (default 5) of S seconds (default 4). Ends with 1 when the median of the rounds' ratios is above 2.
`;

/** The goal. */
const MOST = 2;
const CALLERS = 8;
/** Between the calls of one caller, so that the calls themselves are not the load. */
const THINK_MS = 20;

interface Round {
  readonly flood: string;
  /** Milliseconds, without the flood and with it. */
  readonly p99: readonly [quiet: number, flooded: number];
  readonly calls: number;
  readonly wrong: number;
  /** Of the gateway during the flood, comparisons included. */
  readonly cpuMs: number;
}

/** Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const options = {
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    flood: { type: 'string', default: '1000' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  } as const;
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options });
    if (values.help) return undefined;
    return {
      rounds: wholeNumber('rounds', values.rounds, 100),
      seconds: wholeNumber('seconds', values.seconds, 60),
      rate: wholeNumber('flood', values.flood, 100_000),
      json: values.json,
    };
  });
  if (typeof read === 'number') return read;
  const { rounds, seconds, rate, json } = read;
  const releasers = createReleasers();
  try {
    const service = await startItemService(releasers);
    const all: Round[] = [];
    // In the first, whose figures are not kept, code is still being compiled.
    for (let round = 0; round <= rounds; round++) {
      process.stderr.write(round === 0 ? 'warming up\n' : `round ${round} of ${rounds}\n`);
      // Each from a source of its own, whose budget for comparing is whole.
      const from = `X-Forwarded-For: 10.0.0.${round}\r\n`;
      for (const flood of unknownKeys(service.apiKeys['all'] ?? '', from)) {
        const attacker = await startAttacker();
        const quiet = await callFor(service, seconds * 1000);
        const plan = {
          ...flood,
          way: 'paced',
          depth: rate,
          connections: CALLERS,
          port: service.port,
        } as const;
        const cpuBefore = await cpuMicroseconds(service.gateway);
        const [flooded] = await Promise.all([
          callFor(service, seconds * 1000),
          attacker.run({ ...plan, seconds }),
        ]);
        attacker.stop();
        const cpuMs = ((await cpuMicroseconds(service.gateway)) - cpuBefore) / 1000;
        if (round === 0) continue;
        all.push({
          flood: flood.title,
          p99: [quantile(quiet.latencies, 0.99), quantile(flooded.latencies, 0.99)],
          calls: quiet.latencies.length + flooded.latencies.length,
          wrong: quiet.wrong + flooded.wrong,
          cpuMs,
        });
      }
    }
    return report(all, json);
  } finally {
    await releasers.closeAll();
  }
}

interface Called {
  readonly latencies: readonly number[];
  readonly wrong: number;
}

async function callFor(service: Service, ms: number): Promise<Called> {
  const agent = new Agent({ keepAlive: true });
  const until = performance.now() + ms;
  const latencies: number[] = [];
  let wrong = 0;
  const caller = async (number: number): Promise<void> => {
    await pause((THINK_MS / CALLERS) * number);
    while (performance.now() < until) {
      const startedAt = performance.now();
      if (!(await getItem(service, agent))) wrong++;
      latencies.push(performance.now() - startedAt);
      await pause(THINK_MS);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)));
  agent.destroy();
  return { latencies, wrong };
}

/** Whether the answer is right. */
async function getItem(service: Service, agent: Agent): Promise<boolean> {
  return await new Promise((resolve, reject) => {
    const sent = request(
      `${service.url}/api/v1/capabilities/get_item`,
      {
        agent,
        method: 'POST',
        headers: { 'X-API-Key': service.apiKeys['all'] ?? '', 'Content-Type': 'application/json' },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.on('end', () => resolve(text === ITEM_ANSWER)).on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(JSON.stringify({ id: ITEM }));
  });
}

function report(all: readonly Round[], json: boolean): number {
  const floods = [...new Set(all.map(({ flood }) => flood))].map((flood) => {
    const rounds = all.filter((each) => each.flood === flood);
    const ratios = rounds.map(({ p99: [quiet, flooded] }) => flooded / quiet);
    return {
      flood,
      p99Ms: [0, 1].map((at) =>
        quantile(
          rounds.map(({ p99 }) => p99[at] ?? 0),
          0.5,
        ),
      ),
      ratio: quantile(ratios, 0.5),
      ratios,
      calls: rounds.reduce((sum, { calls }) => sum + calls, 0),
      wrong: rounds.reduce((sum, { wrong }) => sum + wrong, 0),
      cpuMs: quantile(
        rounds.map(({ cpuMs }) => cpuMs),
        0.5,
      ),
    };
  });
  if (json) process.stdout.write(`${JSON.stringify(floods)}\n`);
  else {
    for (const { flood, p99Ms, ratio, ratios, calls, wrong, cpuMs } of floods) {
      const [quiet = 0, flooded = 0] = p99Ms;
      const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
      process.stdout.write(
        `${flood}: p99 ${quiet.toFixed(2)} ms, flooded ${flooded.toFixed(2)} ms; ` +
          `${ratio.toFixed(2)} times (${spread}); ${calls} calls, ${wrong} wrong; gateway ${cpuMs.toFixed(0)} ms of CPU a flood\n`,
      );
    }
  }
  return floods.every(({ ratio, wrong }) => ratio <= MOST && wrong === 0) ? 0 : 1;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
