import { ignoreSignals } from '@svc/edge/ignore-signals';

// By each process of the agent.
ignoreSignals('SIGUSR1', 'SIGUSR2', 'SIGHUP');
