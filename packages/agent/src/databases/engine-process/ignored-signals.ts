import { ignoreSignals } from '@svc/edge/ignore-signals';

// On a signal to all processes of a terminal or a service, the agent ends its engine processes itself.
ignoreSignals('SIGUSR1', 'SIGUSR2', 'SIGHUP', 'SIGTERM', 'SIGINT', 'SIGQUIT');
