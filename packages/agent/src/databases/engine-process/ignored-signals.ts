import { ignoreSignals } from '@svc/edge/ignore-signals';

// A signal to all processes of a terminal or a service leaves an engine process to the agent.
ignoreSignals('SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGTERM', 'SIGINT', 'SIGQUIT');
