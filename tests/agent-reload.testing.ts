import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startService, type RunningProcess, type Service } from '@svc/testkit';

const ANSWERED_WITHIN_MS = 15_000;

export type Record_ = Readonly<Record<string, unknown>>;

/** A capability whose rows say which edition of the file they are from. */
export function edition(number: number, more = ''): string {
  return `capabilities:
  edition:
    description: Which edition of the file is served
    sql: select ${number} as edition
    result: { edition: { type: integer } }
  slow:
    description: The edition of its begin, half a second later
    sql: select ${number} as edition from pg_sleep(0.5)
    policy: { allow_functions: [pg_sleep] }
    result: { edition: { type: integer } }
${more}`;
}

/** What a capability below reads. */
export const COUNTED: readonly string[] = ['create table counted as select 1 as id'];

export const ADDED = `  added:
    description: Another one
    sql: select id from counted
    result: { id: { type: integer } }
`;

/** An agent, its file and its log. */
export class Reloading {
  readonly service: Service;
  readonly agent: RunningProcess;
  readonly folder: string;
  /** Of the file: what stands before `runtime`. */
  readonly head: string;

  constructor(service: Service, head: string) {
    const [agent] = service.agents;
    if (agent === undefined) throw new Error('no agent was started');
    this.service = service;
    this.agent = agent;
    this.folder = service.agentFolder(0);
    this.head = head;
  }

  async records(...events: readonly string[]): Promise<readonly Record_[]> {
    const log = await readFile(join(this.folder, 'svc-agent.log'), 'utf8');
    return log
      .split('\n')
      .filter((line) => events.some((event) => line.includes(`"event":"${event}"`)))
      .map((line): Record_ => JSON.parse(line));
  }

  /** The record with which the agent answers what `act` does. */
  async answerTo(act: () => unknown, ...events: readonly string[]): Promise<Record_> {
    const before = (await this.records(...events)).length;
    await act();
    const deadline = performance.now() + ANSWERED_WITHIN_MS;
    while (performance.now() < deadline) {
      const record = (await this.records(...events))[before];
      if (record !== undefined) return record;
      await pause(20);
    }
    throw new Error(`no ${events.join(' or ')} within ${ANSWERED_WITHIN_MS} ms`);
  }

  write(text: string, head: string = this.head): Promise<void> {
    return writeFile(join(this.folder, 'capability.yaml'), head + text);
  }

  /** Has the agent take up this file; the record of how that ended. */
  reload(text: string, head?: string): Promise<Record_> {
    return this.answerTo(
      async () => {
        await this.write(text, head);
        this.agent.signal('SIGHUP');
      },
      'reloaded',
      'reload_refused',
    );
  }

  /** What callers get of `edition`. */
  async edition(): Promise<unknown> {
    const { json } = await this.service.call('edition', {});
    return JSON.stringify(json).match(/"edition":(\d+)/)?.[1] ?? json;
  }
}

export async function startReloading(
  limits: string,
  options: Omit<Parameters<typeof startService>[0], 'capabilities'>,
): Promise<Reloading> {
  const service = await startService({ ...options, capabilities: limits + edition(1) });
  const text = await readFile(join(service.agentFolder(0), 'capability.yaml'), 'utf8');
  return new Reloading(service, text.slice(0, text.indexOf(limits)));
}
