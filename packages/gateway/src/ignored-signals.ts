import { ignoreSignals } from '@svc/edge/ignore-signals';

/** The variable by which a primary tells a process that it starts which worker it is. */
export const WORKER_NUMBER = 'SVC_GATEWAY_WORKER';

ignoreSignals('SIGUSR1', 'SIGUSR2');
// A signal to all processes of a replica is for its primary, which tells the workers when to end.
if (process.env[WORKER_NUMBER] !== undefined) ignoreSignals('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT');
