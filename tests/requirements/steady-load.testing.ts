import type { Answer, Service } from '@svc/testkit';

export const LOAD_SQL = `
  create table item (id int primary key, label text not null);
  insert into item select i, 'item ' || i from generate_series(1, 1000) i;
`;

/** A capability's time, and the 2 s that the gateway allows on top, and a slow machine's time. */
const TIMEOUT_MS = 3000;
const LATEST_MS = TIMEOUT_MS + 2000 + 3000;

const RECOVERED_MS = 25_000;

/** Enough callers are in a slow query at any time; more quick calls would only keep the machine busy. */
const THINK_MS = 120;

export const LOAD_CAPABILITIES: string = `
defaults: { timeout: ${TIMEOUT_MS}ms }
capabilities:
  get_item:
    description: One item
    sql: select id, label from item where id = :id
    params: { id: { type: integer, required: true } }
    result: { id: { type: integer }, label: { type: string } }
  list_items:
    description: A hundred items
    sql: select id, label from item where id > :after order by id limit 100
    params: { after: { type: integer, required: true } }
    result: { id: { type: integer }, label: { type: string } }
  slow_item:
    description: One item, after a second
    sql: select item.id, item.label from pg_sleep(1) join item on item.id = :id
    params: { id: { type: integer, required: true } }
    policy: { allow_functions: [pg_sleep] }
    result: { id: { type: integer }, label: { type: string } }
`;

export interface SteadyLoad {
  /**
   * Resolves once 100 calls in a row that began from now on were all right and every call that began before the
   * first of them was answered has ended; rejects after five times what is promised.
   */
  settled(): Promise<void>;
  /** What other than `right` was seen since the last time, `<status> <code>` or a fault, each once and sorted. */
  faults(): string[];
  /** How many calls were right so far. */
  readonly right: number;
  /** Lets every call end. */
  stop(): Promise<void>;
}

/**
 * Keeps `callers` calls in flight: point queries, lists of 100 rows, slow queries of a second. Every answer is
 * compared with what the table holds, and with the time that a call may take.
 */
export function startLoad(service: Pick<Service, 'call'>, callers = 25): SteadyLoad {
  const faults = new Set<string>();
  const inFlight = new Set<number>();
  const watchers = new Set<(outcome: string, startedAt: number) => void>();
  let stopped = false;
  let turn = 0;
  let right = 0;

  async function caller(): Promise<void> {
    while (!stopped) {
      const startedAt = performance.now();
      inFlight.add(startedAt);
      const outcome = await judged(service, turn++);
      inFlight.delete(startedAt);
      if (outcome === 'right') right++;
      else faults.add(outcome);
      for (const watch of watchers) watch(outcome, startedAt);
      await new Promise((resolve) => setTimeout(resolve, THINK_MS));
    }
  }

  const running = Array.from({ length: callers }, caller);
  return {
    settled() {
      const from = performance.now();
      let inARow = 0;
      let rowFrom = from;
      let last = 'none';
      return new Promise((resolve, reject) => {
        const leave = (): void => {
          clearTimeout(timer);
          watchers.delete(watch);
        };
        const watch = (outcome: string, startedAt: number): void => {
          if (startedAt >= from) {
            inARow = outcome === 'right' ? inARow + 1 : 0;
            if (outcome !== 'right') last = outcome;
            if (inARow <= 1) rowFrom = performance.now();
          }
          if (inARow < 100 || [...inFlight].some((startedAt) => startedAt < rowFrom)) return;
          leave();
          resolve();
        };
        const timer = setTimeout(() => {
          leave();
          reject(new Error(`not recovered within ${RECOVERED_MS} ms; the last fault: ${last}`));
        }, RECOVERED_MS);
        watchers.add(watch);
      });
    },
    faults() {
      const seen = [...faults].toSorted();
      faults.clear();
      return seen;
    },
    get right() {
      return right;
    },
    async stop() {
      stopped = true;
      await Promise.all(running);
    },
  };
}

async function judged(service: Pick<Service, 'call'>, turn: number): Promise<string> {
  const id = (turn % 900) + 1;
  const startedAt = performance.now();
  try {
    if (turn % 20 === 0) return judge(await service.call('slow_item', { id }), [id], startedAt);
    if (turn % 4 !== 0) return judge(await service.call('get_item', { id }), [id], startedAt);
    const hundred = Array.from({ length: 100 }, (_, n) => id + 1 + n).filter((n) => n <= 1000);
    return judge(await service.call('list_items', { after: id }), hundred, startedAt);
  } catch (error) {
    return `no answer: ${causeOf(error)}`;
  }
}

function judge({ status, text, json }: Answer, ids: readonly number[], startedAt: number): string {
  const tookMs = performance.now() - startedAt;
  if (tookMs > LATEST_MS) return `late: ${status} after ${Math.round(tookMs)} ms`;
  if (status !== 200) return `${status} ${codeOf(json)}`;
  const rows = ids.map((id) => `{"id":${id},"label":"item ${id}"}`);
  return text === `{"rows":[${rows.join(',')}],"count":${rows.length}}` ? 'right' : `wrong: ${text}`;
}

function codeOf(json: unknown): string {
  const error = fieldOf(json, 'error');
  const code = fieldOf(error, 'code');
  return typeof code === 'string' ? code : `without a code: ${JSON.stringify(json)}`;
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause ? String(cause.code) : String(error);
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}
