import './ignored-signals.ts';
import { parentPort } from 'node:worker_threads';
import { readOffers, reverify, runStartUpChecks, verifyArrived } from './start-up/checks.ts';
import { proposeCapability } from './start-up/propose-capability.ts';
import type {
  AdditionOrder,
  ArrivalOrder,
  OffersOrder,
  ReverifyOrder,
  StartUpOrder,
} from './start-up/report.ts';
import { createWarmChecks } from './workbench/warm-checks.ts';
import type { InspectOrder, WarmOrder } from './workbench/warm-report.ts';

// The main file of the child process that checks, once, or for as long as a workbench runs. It is bundled apart, since a
// running agent needs none of it. The channel is closed when the agent has the outcome, and when the agent ends. In a
// thread, `parentPort` is the channel.
process.once('disconnect', () => process.exit());
const { env } = process;
const warm = createWarmChecks(env);
type Order =
  | StartUpOrder
  | ReverifyOrder
  | ArrivalOrder
  | WarmOrder
  | InspectOrder
  | OffersOrder
  | AdditionOrder;

const send = (report: unknown): unknown =>
  parentPort === null ? process.send?.(report) : parentPort.postMessage(report);

(parentPort ?? process).on('message', (order: Order) => {
  if ('warm' in order) void warm.check(order).then(send);
  else if ('inspect' in order) void warm.inspect(order).then(send);
  else if ('reverify' in order) void reverify(order).then(send);
  else if ('arrived' in order) void verifyArrived(order).then(send);
  else if ('offersOf' in order) void readOffers(order, env).then(send);
  else if ('addTo' in order) void proposeCapability(order, env).then(send);
  else void runStartUpChecks(order, env, send);
});
