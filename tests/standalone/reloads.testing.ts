import { rename, writeFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { createRandom, pick } from '@svc/testkit';
import { startQuickClient, toolsCall } from './quick-client.testing.ts';

export interface StdioReloadsReport {
  readonly seed: number;
  readonly reloaded: number;
  readonly refused: number;
  readonly calls: number;
  /** Changes of the list of this caller. */
  readonly changes: number;
  /** Of each era. */
  readonly notifications: readonly [number, number];
  readonly wrong: readonly string[];
}

const CALLERS = 4;
const CHANGES = ['list', 'sql', 'of others', 'yaml', 'sql fault', 'unknown key'] as const;

/** Changes the capability file while calls run; half of the files are faulty. */
export async function reloadUnderLoad(options: {
  readonly reloads: number;
  readonly seed: number;
  /** A capability file of the library, which is written over. */
  readonly file: string;
  readonly text: string;
}): Promise<StdioReloadsReport> {
  const { reloads, seed, file, text } = options;
  const random = createRandom(seed);
  const client = await startQuickClient(['--config', file, '--capabilities', 'get_book,list_books']);
  const wrong: string[] = [];
  const notifications: [number, number] = [0, 0];
  const waiting = new Map<number, (result: string) => void>();
  let calls = 0;
  let onEnd: (line: string) => void = () => {};
  client.onSaid = (line) => {
    if (/^svc: (?:reloaded|not reloaded)/.test(line)) onEnd(line);
  };
  client.onReply = ({ id, method, params, result, error }) => {
    if (method === 'notifications/tools/list_changed') {
      notifications[params === undefined ? 0 : 1] += 1;
    } else if (typeof id === 'number') {
      waiting.get(id)?.(JSON.stringify(error ?? result?.['structuredContent'] ?? result));
      waiting.delete(id);
    } else if (method !== 'notifications/subscriptions/acknowledged' && id !== 'listen') {
      wrong.push(`unexpected: ${String(id)} ${method}`);
    }
  };
  client.send({
    id: 'listen',
    method: 'subscriptions/listen',
    params: {
      notifications: { toolsListChanged: true },
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  });

  let isOver = false;
  async function call(): Promise<void> {
    while (!isOver) {
      const id = (calls += 1);
      const got = await new Promise<string>((resolve) => {
        waiting.set(id, resolve);
        client.send(toolsCall(id, 'get_book', { id: 7 }));
      });
      if (got !== '{"rows":[{"id":7,"title":"Book 7"}],"count":1}') wrong.push(`call ${id}: ${got}`);
    }
  }
  const callers = Array.from({ length: CALLERS }, call);

  let [reloaded, refused, changes] = [0, 0, 0];
  let description = 'Books';
  let isFiltered = false;
  let more = 0;
  try {
    for (let reload = 0; reload < reloads; reload += 1) {
      const change = pick(random, CHANGES);
      const isFaulty = change === 'yaml' || change === 'sql fault' || change === 'unknown key';
      if (change === 'list') description = `Books ${reload}`;
      if (change === 'sql') isFiltered = !isFiltered;
      if (change === 'of others') more += 1;
      const good = text
        .replace('description: Books\n', `description: ${description}\n`)
        .replace('from book order by id', `from book ${isFiltered ? 'where id > 0' : ''} order by id`)
        .replace('seconds: { type: number,', `seconds: { type: number, description: "${more}",`);
      const written =
        change === 'yaml'
          ? `${good}\n  : torn: [`
          : change === 'sql fault'
            ? good.replace('from book where id = :id', 'from no_book where id = :id')
            : change === 'unknown key'
              ? `${good}\nunknown_${reload}: 1\n`
              : good;
      const ended = new Promise<string>((resolve) => (onEnd = resolve));
      const number = `# ${reload}\n`;
      await writeFile(`${file}.new`, written + number);
      await rename(`${file}.new`, file);
      const line = await Promise.race([
        ended,
        new Promise<string>((resolve) => setTimeout(resolve, 20_000, 'nothing in 20 s')),
      ]);
      if (line.startsWith('svc: reloaded') === isFaulty || line.startsWith('nothing'))
        wrong.push(`reload ${reload} (${change}): ${line}`);
      if (isFaulty) refused += 1;
      else reloaded += 1;
      if (change === 'list') changes += 1;
    }
    isOver = true;
    await Promise.all(callers);
    const untold = (): boolean => notifications.some((count) => count < changes);
    for (let waited = 0; untold() && waited < 100; waited += 1) await pause(20);
    const code = await client.end();
    if (code !== 0) wrong.push(`it ended with ${code}`);
    if (notifications.some((count) => count !== changes))
      wrong.push(`${changes} changes, ${notifications.join(' and ')} notifications`);
  } finally {
    client.kill();
  }
  return { seed, reloaded, refused, calls, changes, notifications, wrong };
}
