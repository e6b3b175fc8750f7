import { listCalls, listName, listQueries, startLibrary } from './library.ts';
import { measureInTurn, type Measured } from './measured.ts';
import {
  figure,
  figuresOfSizes,
  grouped,
  type Figure,
  type Measurement,
  type Row,
  type Scale,
} from './row.ts';

const SIZES = [1, 10, 100, 1000, 10_000] as const;
const CONNECTIONS = 8;

const CPU = 'CPU of a call';
const GATEWAY = 'CPU of the gateway for it';
const AGENT = 'CPU of the agent for it';
const DATABASE = 'CPU of the database for it';

export const resultSize: Row = {
  name: 'result-size',
  title: 'Size of the result',
  chart: { xAxis: 'rows', yAxis: 'CPU per call, us', lines: [GATEWAY, AGENT, DATABASE] },
  measure,
};

async function measure(scale: Scale): Promise<Measurement> {
  const service = await startLibrary(scale, listQueries(SIZES));
  const bytes = new Map<number, number>();
  for (const rows of SIZES) {
    const { status, text } = await service.call(listName(rows), { after: 0 });
    if (status !== 200 || !text.includes(`"count":${rows}}`)) {
      throw new Error(`cannot get ${rows} rows: ${status} ${text.slice(-200)}`);
    }
    bytes.set(rows, Buffer.byteLength(text));
  }
  const contestants = SIZES.map((rows) => ({
    name: String(rows),
    service,
    loads: [listCalls(service, rows, CONNECTIONS)],
  }));
  const column = await measureInTurn(scale, contestants);
  const figures = (what: string, of: keyof Measured, unit: string): readonly Figure[] => {
    const sizes = SIZES.map((rows) => {
      const kilobytes = ((bytes.get(rows) ?? 0) / 1024).toFixed(1);
      const size = `${grouped(rows)} ${rows === 1 ? 'row' : 'rows'}, ${kilobytes} KB`;
      return { at: rows, size, values: column(`${rows}`, of) };
    });
    return figuresOfSizes(what, unit, sizes);
  };
  /** What is more than one row costs, in each round. */
  const further = (what: string, unitsOf: (rows: number) => number): readonly Figure[] =>
    SIZES.filter((rows) => rows >= 100).map((rows) => {
      const base = column('1', 'cpu');
      const units = unitsOf(rows) - unitsOf(SIZES[0]);
      const values = column(`${rows}`, 'cpu').map(
        (cpu, round) => (cpu - (base[round] ?? Number.NaN)) / units,
      );
      return figure(what, `${grouped(rows)} rows`, 'us', values);
    });
  return {
    figures: [
      ...figures(CPU, 'cpu', 'us'),
      ...further('CPU of each row beyond the first', (rows) => rows),
      ...further('CPU of each KB beyond the first row', (rows) => (bytes.get(rows) ?? 0) / 1024),
      ...figures(GATEWAY, 'gatewayCpu', 'us'),
      ...figures(AGENT, 'agentCpu', 'us'),
      ...figures(DATABASE, 'databaseCpu', 'us'),
      ...figures('p50', 'p50Ms', 'ms'),
    ],
    notes: [`REST, ${CONNECTIONS} connections, closed loop; the CPU of gateway and agent together.`],
  };
}
