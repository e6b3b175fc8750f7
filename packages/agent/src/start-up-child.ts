import './ignored-signals.ts';
import type {
  AdditionOrder,
  ArrivalOrder,
  OffersOrder,
  ReverifyOrder,
  StartUpOrder,
} from './start-up/report.ts';
import { reverify, runStartUpChecks, verifyArrived } from './start-up/checks.ts';
import { proposeCapability } from './start-up/propose-capability.ts';
import { readOffers } from './start-up/read-offers.ts';
import { createWarmChecks } from './workbench/warm-checks.ts';
import type { InspectOrder, WarmOrder } from './workbench/warm-report.ts';

// The main file of the child process that runs the start-up checks, once, or as long as a workbench runs; bundled apart,
// since a running agent needs none of it. The agent disconnects when it has the outcome, and its own end disconnects, too.
process.once('disconnect', () => process.exit());
const warm = createWarmChecks(process.env);
type Order =
  | StartUpOrder
  | ReverifyOrder
  | ArrivalOrder
  | WarmOrder
  | InspectOrder
  | OffersOrder
  | AdditionOrder;
process.on('message', (order: Order) => {
  if ('warm' in order) void warm.check(order).then((report) => process.send?.(report));
  else if ('inspect' in order) void warm.inspect(order).then((report) => process.send?.(report));
  else if ('reverify' in order) void reverify(order).then((report) => process.send?.(report));
  else if ('arrived' in order) void verifyArrived(order).then((report) => process.send?.(report));
  else if ('offersOf' in order) void readOffers(order, process.env).then((report) => process.send?.(report));
  else if ('addTo' in order)
    void proposeCapability(order, process.env).then((report) => process.send?.(report));
  else void runStartUpChecks(order, process.env, (report) => process.send?.(report));
});
