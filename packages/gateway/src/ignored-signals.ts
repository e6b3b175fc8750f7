import { ignoreSignals } from '@svc/edge/ignore-signals';

ignoreSignals('SIGUSR1', 'SIGUSR2');
// A signal to all processes of a replica is for its primary, which tells the workers when to end.
if (process.env['SVC_GATEWAY_WORKER'] !== undefined) ignoreSignals('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT');
