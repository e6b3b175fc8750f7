import './ignored-signals.ts';
import type { AdditionOrder, OffersOrder, ReverifyOrder, StartUpOrder } from './start-up/report.ts';
import { reverify, runStartUpChecks } from './start-up/checks.ts';
import { proposeCapability } from './start-up/propose-capability.ts';
import { readOffers } from './start-up/read-offers.ts';

// The main file of the child process that runs the start-up checks; bundled apart, since a running agent needs none
// of it. The agent disconnects when it has the outcome, and its own end disconnects, too.
process.once('disconnect', () => process.exit());
process.once('message', (order: StartUpOrder | OffersOrder | AdditionOrder | ReverifyOrder) => {
  if ('offersOf' in order) {
    void readOffers(order, process.env).then((report) => process.send?.(report));
    return;
  }
  if ('addTo' in order) {
    void proposeCapability(order, process.env).then((report) => process.send?.(report));
    return;
  }
  if ('reverify' in order) {
    void reverify(order).then((report) => process.send?.(report));
    return;
  }
  void runStartUpChecks(order, process.env, (report) => process.send?.(report));
});
