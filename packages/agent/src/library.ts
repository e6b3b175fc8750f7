// What a program may use that has the agent in its own process.
export type { CallOutcome } from './calls/handle-call.ts';
export type { AgentLinks, LinkOffer } from './calls/link-offer.ts';
export type { ServiceInfo } from './capabilities/model.ts';
export { openAgent } from './cli/open-database.ts';
export { Refused } from './cli/init/make-proposal.ts';
export { proposeInMemory, type ProposedFile } from './cli/init/propose-in-memory.ts';
export { printFaults } from './cli/print-faults.ts';
export { keepReloading } from './cli/run/keep-reloading.ts';
export type { LinkOverride } from './config/load.ts';
export { databaseFault, type VerificationFault } from './databases/driver/errors.ts';
export { recordsOf } from './reload/found-records.ts';
export type { RunningAgent } from './runtime/agent.ts';
export type { LinkedAgent, OpenLinks } from './runtime/open-links.ts';
export { checkInChildProcess } from './start-up/child-process.ts';
export { readonlyAccountFaults } from './start-up/readonly-account.ts';
export type { FileDigests, StartUpReport, WellFormed } from './start-up/report.ts';
export type { AgentEvent } from './telemetry/events.ts';
export { levelOf, type Log as AgentLog } from './telemetry/log.ts';
