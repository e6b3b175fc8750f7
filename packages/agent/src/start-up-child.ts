import './ignored-signals.ts';
import type { StartUpOrder } from './start-up/report.ts';
import { runStartUpChecks } from './start-up/checks.ts';

// The main file of the child process that runs the start-up checks; bundled apart, since a running agent needs none
// of it. The agent disconnects when it has the outcome, and its own end disconnects, too.
process.once('disconnect', () => process.exit());
process.once('message', (order: StartUpOrder) => {
  void runStartUpChecks(order, process.env, (report) => process.send?.(report));
});
