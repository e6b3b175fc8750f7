import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createResultBudget } from '../../agents/result-budget.ts';
import { reachSibling } from './sibling.ts';
import { createSocketFolder } from '../primary/socket-folder.ts';

test('a sibling that is closed between two dials is not dialled again', async () => {
  const folder = createSocketFolder();
  const path = folder.newPath(1);
  const budget = createResultBudget(1);
  const options = { worker: 1, path, budget, onReachable: () => {}, onUnreachable: () => {} };
  const closed = reachSibling(options);
  // Nobody listens yet: it waits by now.
  await sleep(30);
  closed.close();
  let dials = 0;
  const server = createServer(() => dials++).listen(path);
  await once(server, 'listening');
  await sleep(200);
  server.close();
  folder.remove();
  expect(dials).toBe(0);
});
