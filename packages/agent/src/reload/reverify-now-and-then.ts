import { UNNAMED } from '../capabilities/database-names.ts';
import type { AgentConfig } from '../config/model.ts';
import { isDatabaseAway } from '../databases/driver/errors.ts';
import { askChildProcess } from '../start-up/child-process.ts';
import type { ReverifyReport, VerifiedAgent } from '../start-up/report.ts';
import type { Observe } from '../telemetry/events.ts';
import { textsOf, unexpected } from './fault-texts.ts';
import type { KeepSharing } from './keep-sharing.ts';

/** Without capabilities that wait for their database. */
function whatWasVerified({ config, prepared, unverified }: VerifiedAgent): AgentConfig {
  if (unverified.length === 0) return config;
  const names = new Set(prepared.map(({ capability }) => capability));
  const capabilities = config.capabilities.filter(({ name }) => names.has(name));
  const isAsked = (name: string): boolean =>
    !unverified.some((each) => each.name === name) ||
    capabilities.some(({ database = UNNAMED }) => database === name);
  const databases = Object.entries(config.databases).filter(([name]) => isAsked(name));
  return { ...config, databases: Object.fromEntries(databases), capabilities };
}

/** How often a change of the interval is noticed. */
const LOOK_MS = 1000;

/**
 * Verifies again what is served, as often as its file says. Reports what does not pass any more, and changes nothing but
 * which calls share transactions.
 */
export function reverifyNowAndThen(
  serving: () => VerifiedAgent,
  observe: Observe,
  sharing: Pick<KeepSharing, 'begin' | 'take'>,
): { close(): void } {
  const closing = new AbortController();
  let timer: NodeJS.Timeout;
  let lastAt = performance.now();

  function lookLater(): void {
    if (!closing.signal.aborted) timer = setTimeout(() => void look().then(lookLater), LOOK_MS);
  }

  async function look(): Promise<void> {
    const begun = sharing.begin();
    const { verified } = begun;
    const { reverifyMs } = verified.config.runtime;
    const startedAt = performance.now();
    if (reverifyMs === undefined || startedAt < lastAt + reverifyMs) return;
    const config = whatWasVerified(verified);
    const { faults, prepared } = await verify(config);
    lastAt = performance.now();
    // A reload meanwhile has just verified everything.
    if (closing.signal.aborted || serving().config !== verified.config) return;
    const duration_ms = Math.round(lastAt - startedAt);
    // The loss of a database is reported elsewhere, and tells nothing about what it holds.
    const drifted = faults.filter((fault) => !isDatabaseAway(fault));
    if (drifted.length > 0) observe({ event: 'drift', ...textsOf(drifted), duration_ms });
    else if (faults.length === 0)
      observe({ event: 'reverified', capabilities: config.capabilities.length, duration_ms });
    await sharing.take(begun, prepared);
  }

  async function verify(config: AgentConfig): Promise<ReverifyReport> {
    try {
      return await askChildProcess({ reverify: config }, closing.signal);
    } catch (error) {
      return { faults: [unexpected(error)], prepared: [] };
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
