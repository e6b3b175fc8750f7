import { ignoreSignals } from '@svc/edge/ignore-signals';

ignoreSignals('SIGUSR1', 'SIGUSR2');
