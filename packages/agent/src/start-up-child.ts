import './ignored-signals.ts';
import type { StartUpOrder } from './start-up/report.ts';
import { startUp } from './start-up/checks.ts';

// What the process of the start-up checks runs; bundled apart, since a running agent needs none of it. It ends when
// the agent has heard enough, or is gone.
process.once('disconnect', () => process.exit());
process.once('message', (order: StartUpOrder) => {
  void startUp(order, process.env, (report) => process.send?.(report));
});
