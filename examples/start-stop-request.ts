import { readFileSync } from 'node:fs';

export interface StopRequest {
  /** Aborted when somebody wants everything to stop. */
  readonly signal: AbortSignal;
  /** Resolves then, to a few words about the cause. */
  readonly requested: Promise<string>;
  close(): void;
}

const signals = ['SIGINT', 'SIGTERM', 'SIGQUIT', 'SIGHUP'] as const;
/** Without a listener the first signal opens Node's debugger, and the second ends the process and leaves everything running. */
const ignoredSignals = ['SIGUSR1', 'SIGUSR2'] as const;
const ignore = (): void => {};
const ancestorCheckMs = 200;

/** Listens for the ways in which a user ends `npm start`. Further signals change nothing: stopping has deadlines. */
export function stopRequest(): StopRequest {
  const controller = new AbortController();
  const requested = new Promise<string>((resolve) => {
    controller.signal.addEventListener('abort', () => resolve(String(controller.signal.reason)), {
      once: true,
    });
  });
  const onSignal = (signal: NodeJS.Signals): void => controller.abort(signal);
  for (const signal of signals) process.on(signal, onSignal);
  for (const signal of ignoredSignals) process.on(signal, ignore);
  // The reader has ended, as in `npm start | head`.
  const onBrokenPipe = (): void => controller.abort('the output was closed');
  process.stdout.on('error', onBrokenPipe);
  process.stderr.on('error', onBrokenPipe);

  // npm may be killed, and a shell between npm and this process may die of a signal without passing it on.
  const ancestors = findAncestors();
  const ancestorCheck = setInterval(() => {
    if (findAncestors() !== ancestors) controller.abort('npm has ended');
  }, ancestorCheckMs);
  if (process.env['npm_lifecycle_event'] === undefined) clearInterval(ancestorCheck);

  return {
    signal: controller.signal,
    requested,
    close: () => {
      clearInterval(ancestorCheck);
      for (const signal of signals) process.off(signal, onSignal);
      for (const signal of ignoredSignals) process.off(signal, ignore);
    },
  };
}

/** The parent and, if the system tells it, the parent's parent: a process gets another parent when its own has ended. */
function findAncestors(): string {
  const { ppid } = process;
  try {
    const [, grandparent = ''] = /\) \S (\d+)/.exec(readFileSync(`/proc/${ppid}/stat`, 'utf8')) ?? [];
    return `${ppid} ${grandparent}`;
  } catch {
    return String(ppid);
  }
}
