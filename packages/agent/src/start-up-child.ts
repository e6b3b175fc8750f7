import './ignored-signals.ts';
import type { OffersOrder, StartUpOrder } from './start-up/report.ts';
import { runStartUpChecks } from './start-up/checks.ts';
import { readOffers } from './start-up/read-offers.ts';

// The main file of the child process that runs the start-up checks; bundled apart, since a running agent needs none
// of it. The agent disconnects when it has the outcome, and its own end disconnects, too.
process.once('disconnect', () => process.exit());
process.once('message', (order: StartUpOrder | OffersOrder) => {
  if ('offersOf' in order) {
    void readOffers(order, process.env).then((report) => process.send?.(report));
    return;
  }
  void runStartUpChecks(order, process.env, (report) => process.send?.(report));
});
