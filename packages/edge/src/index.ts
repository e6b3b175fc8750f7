export { createAbort, type AbortSignalLike } from './waiting/abort.ts';
export {
  commandsOf,
  FLAGS_OF_ALL,
  type CommandSpec,
  type FlagSpec,
  type ProgramSpec,
} from './cli/command-table.ts';
export { parseCommandLine, type Given, type ParsedCommand } from './cli/parse-command-line.ts';
export { renderCompletion } from './cli/render-completion.ts';
export { renderHelp } from './cli/render-help.ts';
export { createByteBudget, type ByteBudget, type Reservation } from './waiting/byte-budget.ts';
export { tolerateClosedOutput } from './process/closed-output.ts';
export { counted } from './text/counted.ts';
export { DURATION_PATTERN, parseDuration } from './text/duration.ts';
export { errorText } from './text/error-text.ts';
export { createDescriptorReserve } from './process/descriptor-reserve.ts';
export { createExpiringMap } from './waiting/expiring-map.ts';
export { firstSignal } from './process/first-signal.ts';
export { createJsonLines, printable, type JsonLines, type LineSink } from './log/json-lines.ts';
export { createOutputSink, type OutputSink } from './log/output-sink.ts';
export { hostnameOf } from './network/host-name.ts';
export { CannotListen, listen, type AcceptFailure } from './network/listen.ts';
export { connectionsThrough } from './proxy/connect-through-proxy.ts';
export * from './proxy/find-proxy.ts';
export { readListenAddress, type ListenAddress } from './network/listen-address.ts';
export {
  createMetricsRegister,
  createMetricsSum,
  type AddDuration,
  type Metric,
  type MetricsPage,
  type MetricsRegister,
  type MetricsSum,
  type Sample,
} from './metrics/register.ts';
export type { MetricsSnapshot } from './metrics/open-metrics.ts';
export { serveMetrics, type MetricsListener } from './metrics/serve-metrics.ts';
export { openFileLimit } from './process/open-file-limit.ts';
export { nearest, nearestWithin } from './text/nearest.ts';
export { readProblem } from './text/read-problem.ts';
export { openTraces, type EndedSpan, type OpenSpan, type Traces } from './traces/open-traces.ts';
export { readTraces, type TracesFault } from './traces/read-traces.ts';
export * from './traces/trace-context.ts';
export type { TracesConfig } from './traces/traces-config.ts';
export { createTurnQueue, type TurnQueue } from './waiting/turn-queue.ts';
export { executablePath, runOwnCode, spawnOwnCode, type OwnCode } from './process/own-code.ts';
export { canStartProcesses, startOwnThread, type OwnRunner } from './process/own-thread.ts';
export { watchFiles, type FileWatch } from './process/watch-files.ts';
export { leaveRemovedFolder, startThread } from './process/working-folder.ts';
export { limitYoungGeneration } from './process/young-generation.ts';
export { restartDelay } from './process/restart-delay.ts';
export { createInOrder } from './process/in-order.ts';
export { atOnce, inSlices, type Sliced } from './process/in-slices.ts';
