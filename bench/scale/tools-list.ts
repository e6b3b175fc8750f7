import { ask, type Service } from '@svc/testkit';
import type { Load } from '../load/wrk.ts';
import { median } from '../report/statistics.ts';
import { headersWith, pointQueries, startLibrary } from './library.ts';
import { measureInTurn, type Contestant } from './measured.ts';
import { atMost, figure, figuresOfSizes, grouped, type Measurement, type Row, type Scale } from './row.ts';

const SIZES = [10, 100, 1000] as const;
const CONNECTIONS = 8;
const BODIES = 100;

const FIRST = 'CPU of the first page of tools/list';
const PER_KB = 'the same for each KB';
const ADDED = 'what the further tools of a page add';
const WHOLE = 'CPU of the whole list, page by page';

export const toolsList: Row = {
  name: 'tools-list',
  title: 'tools/list',
  chart: { xAxis: 'tools', yAxis: 'CPU, us', lines: [FIRST, WHOLE] },
  measure,
};

interface Listed {
  readonly size: number;
  readonly bytes: number;
  readonly pages: number;
  readonly tools: readonly unknown[];
  readonly onFirst: number;
  readonly first: Contestant;
  readonly whole: Contestant;
}

async function measure(scale: Scale): Promise<Measurement> {
  const lists: Listed[] = [];
  for (const size of SIZES) {
    scale.say(`starting with ${size} capabilities`);
    lists.push(await listOf(size, await startLibrary(scale, pointQueries(size))));
  }
  const several = lists.filter(({ pages }) => pages > 1).map(({ whole }) => whole);
  const column = await measureInTurn(scale, [...lists.map(({ first }) => first), ...several]);
  const cpuOf = ({ name }: Contestant): readonly number[] => column(name, 'cpu');
  const [smallest] = lists;
  const largest = lists.at(-1);
  if (smallest === undefined || largest === undefined) throw new Error('cannot compare without sizes');
  const base = cpuOf(smallest.first);
  const sized = ({ size, onFirst, bytes }: Listed): string =>
    `${onFirst} of ${grouped(size)} tools, ${(bytes / 1024).toFixed(0)} KB`;
  const firstPages = lists.map((list) => ({ at: list.size, size: sized(list), values: cpuOf(list.first) }));
  const perKb = lists.map((list) => {
    const values = cpuOf(list.first).map((cpu) => (cpu * 1024) / list.bytes);
    return figure(PER_KB, sized(list), 'us', values);
  });
  const wholes = lists.map((list) => {
    const values = list.pages > 1 ? cpuOf(list.whole).map((cpu) => cpu * list.pages) : cpuOf(list.first);
    const size = `${grouped(list.size)} tools, ${list.pages} ${list.pages === 1 ? 'page' : 'pages'}`;
    return { at: list.size, size, values };
  });
  const rewritten = microsecondsToWrite(largest.tools) - microsecondsToWrite(smallest.tools);
  const added = cpuOf(largest.first).map((cpu, round) => cpu - (base[round] ?? Number.NaN));
  const addedSize = `${largest.onFirst} against ${smallest.onFirst} tools`;
  const addedFigure = figure(ADDED, addedSize, 'us', added, { goal: atMost('value', rewritten) });
  return {
    figures: [
      ...figuresOfSizes(FIRST, 'us', firstPages),
      ...perKb,
      addedFigure,
      ...figuresOfSizes(WHOLE, 'us', wholes),
    ],
    notes: [
      `Served from bytes: a page may cost more for its bytes, but less than JSON.stringify of the further tools alone, ${rewritten.toFixed(0)} us in this process.`,
      `Pages have 200 tools, made once for a description and what a key may call; ${CONNECTIONS} connections, closed loop.`,
    ],
  };
}

async function listOf(size: number, service: Service): Promise<Listed> {
  const headers = {
    ...headersWith(service.apiKeys['all'] ?? ''),
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-11-25',
  };
  const bodies: string[] = [];
  const tools: unknown[] = [];
  let [bytes, onFirst] = [0, 0];
  for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page++) {
    const params = cursor === undefined ? {} : { cursor };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params });
    const { text } = await ask(`${service.url}/mcp`, { method: 'POST', headers, body });
    const answer: { result: { tools: readonly unknown[]; nextCursor?: string } } = JSON.parse(text);
    bodies.push(body);
    if (page === 0) [bytes, onFirst] = [Buffer.byteLength(text), answer.result.tools.length];
    tools.push(...answer.result.tools);
    cursor = answer.result.nextCursor;
  }
  if (tools.length !== size) throw new Error(`cannot list ${size} tools: ${tools.length} came`);
  const base: Load = { url: service.url, path: '/mcp', connections: CONNECTIONS, headers, bodies };
  const [firstBody = ''] = bodies;
  return {
    size,
    bytes,
    pages: bodies.length,
    tools: tools.slice(0, onFirst),
    onFirst,
    first: {
      name: `first of ${size}`,
      service,
      loads: [{ ...base, bodies: Array.from({ length: BODIES }, () => firstBody) }],
    },
    whole: { name: `whole of ${size}`, service, loads: [base] },
  };
}

function microsecondsToWrite(tools: readonly unknown[]): number {
  const times = Array.from({ length: 200 }, () => {
    const startedAt = performance.now();
    JSON.stringify(tools);
    return (performance.now() - startedAt) * 1000;
  });
  return median(times);
}
