import { ignoreSignals } from '@svc/edge/ignore-signals';
import { WORKER_NUMBER } from './cluster/worker/worker-number.ts';

ignoreSignals('SIGUSR1', 'SIGUSR2');
// A signal to all processes of a replica is for its primary, which tells the workers when to end.
if (process.env[WORKER_NUMBER] !== undefined) ignoreSignals('SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT');
