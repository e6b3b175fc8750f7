import './ignored-signals.ts';
import type { ReverifyOrder, StartUpOrder } from './start-up/report.ts';
import { reverify, runStartUpChecks } from './start-up/checks.ts';

// The main file of the child process that runs the start-up checks; bundled apart, since a running agent needs none
// of it. The agent disconnects when it has the outcome, and its own end disconnects, too.
process.once('disconnect', () => process.exit());
process.once('message', (order: StartUpOrder | ReverifyOrder) => {
  if ('reverify' in order) void reverify(order).then((report) => process.send?.(report));
  else void runStartUpChecks(order, process.env, (report) => process.send?.(report));
});
