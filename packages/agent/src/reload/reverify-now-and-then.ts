import type { AgentConfig } from '../config/model.ts';
import { isDatabaseAway } from '../databases/errors.ts';
import { reverifyInChildProcess } from '../start-up/child-process.ts';
import type { Observe } from '../telemetry/events.ts';
import { textsOf, unexpected } from './fault-texts.ts';

export interface ReverifyOptions {
  /** What is served now; its `reverifyMs` says how often. */
  readonly serving: () => AgentConfig;
  readonly observe: Observe;
}

/** How often it is looked whether the file has come to ask for it. */
const LOOK_MS = 1000;

/** Verifies what is served again, as often as its file says. Tells of what does not hold any more, and changes nothing. */
export function reverifyNowAndThen({ serving, observe }: ReverifyOptions): { close(): void } {
  const closing = new AbortController();
  let timer: NodeJS.Timeout;
  let lastAt = performance.now();

  function lookLater(): void {
    if (!closing.signal.aborted) timer = setTimeout(() => void look().then(lookLater), LOOK_MS);
  }

  async function look(): Promise<void> {
    const config = serving();
    const { reverifyMs } = config.runtime;
    const startedAt = performance.now();
    if (reverifyMs === undefined || startedAt < lastAt + reverifyMs) return;
    const faults = await verify(config);
    lastAt = performance.now();
    // What has taken its place meanwhile has just been verified.
    if (closing.signal.aborted || serving() !== config) return;
    const duration_ms = Math.round(lastAt - startedAt);
    // A lost database is told of elsewhere, and what it holds is neither sound nor drifted.
    const drifted = faults.filter((fault) => !isDatabaseAway(fault));
    if (drifted.length > 0) observe({ event: 'drift', ...textsOf(drifted), duration_ms });
    else if (faults.length === 0)
      observe({ event: 'reverified', capabilities: config.capabilities.length, duration_ms });
  }

  async function verify(config: AgentConfig): Promise<Parameters<typeof textsOf>[0]> {
    try {
      return (await reverifyInChildProcess({ reverify: config }, closing.signal)).faults;
    } catch (error) {
      return [unexpected(error)];
    }
  }

  lookLater();
  return {
    close() {
      closing.abort();
      clearTimeout(timer);
    },
  };
}
