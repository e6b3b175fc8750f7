import { parseOptions, usage } from './start-options.ts';
import { startDemo, type Demo } from './start-demo.ts';
import { createScreen, type Screen } from './start-screen.ts';
import { stopRequest } from './start-stop-request.ts';

/**
 * Runs the whole service with sample data until it is asked to stop. Resolves to the exit code: 0 after a
 * stop that was asked for, 1 after a failure, 2 for wrong usage.
 */
export async function start(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  if ('fault' in options) {
    process.stderr.write(`${options.fault}\n\n${usage}`);
    return 2;
  }
  if (options.help) {
    process.stdout.write(usage);
    return 0;
  }
  const screen = createScreen(options.json);
  const stop = stopRequest();
  let demo: Demo | undefined;
  try {
    demo = await startDemo(options, screen.progress, stop.signal);
    screen.show(demo);
    const reason = await Promise.race([stop.requested, demo.failure]);
    if (reason instanceof Error) throw reason;
    screen.progress(`Stopping (${reason})`);
    await demo.stop();
    screen.progress(
      demo.keptIn === undefined ? 'Stopped; nothing is left' : `Stopped; kept in ${demo.keptIn}`,
    );
    return 0;
  } catch (error) {
    await demo?.stop().catch((failure: unknown) => screen.failure(failure));
    return conclude(error, stop.signal, screen);
  } finally {
    stop.close();
  }
}

function conclude(error: unknown, stop: AbortSignal, screen: Screen): number {
  if (stop.aborted) {
    screen.progress('Stopped before everything was running');
    return 0;
  }
  screen.failure(error);
  return 1;
}
