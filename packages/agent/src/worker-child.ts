import './ignored-signals.ts';
import { Socket } from 'node:net';
import { limitYoungGeneration } from '@svc/edge';
import { ignoreSignals } from '@svc/edge/ignore-signals';
import { serveWorker } from './workers/serve-worker.ts';

// The main file of a worker, a child process that runs calls; bundled apart, since it needs little of the agent. It
// ends when the agent tells it to or is gone, and not with a signal to all processes of a terminal or a service.
ignoreSignals('SIGTERM', 'SIGINT', 'SIGQUIT');
limitYoungGeneration(process.env['NODE_OPTIONS']);
serveWorker(new Socket({ fd: 3 }), () => process.exit());
