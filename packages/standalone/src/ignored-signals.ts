import { ignoreSignals } from '@svc/edge/ignore-signals';

// SIGHUP has a listener once a command runs.
ignoreSignals('SIGUSR1', 'SIGUSR2', 'SIGHUP');
