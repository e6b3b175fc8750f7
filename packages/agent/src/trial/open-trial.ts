import { randomUUID } from 'node:crypto';
import { createAbort } from '@svc/edge';
import { DEFAULT_SERVICE, type AgentErrorCode } from '@svc/protocol';
import { createAdmissions } from '../calls/admissions.ts';
import { createRunCall } from '../calls/run-call.ts';
import { prepareSet } from '../calls/served-set.ts';
import type { Caller } from '../capabilities/caller.ts';
import { driverOf } from '../databases/drivers.ts';
import { closeAll, closeUnless, databasesOf, pingAll, type OpenedDatabase } from '../databases/opened.ts';
import type { VerifiedAgent } from '../start-up/report.ts';
import type { Observe } from '../telemetry/events.ts';

interface TrialCall {
  readonly capability: string;
  /** A JSON object, not yet trusted. */
  readonly params: Uint8Array;
  readonly caller: Caller;
}

/** How a call ended. */
export type Answer =
  | {
      readonly kind: 'rows';
      /** JSON array. */
      readonly rows: Uint8Array;
      readonly count: number;
      readonly truncated: boolean;
      /** By which a call goes on after the last row. */
      readonly cursor?: string;
    }
  | {
      readonly kind: 'error';
      readonly code: AgentErrorCode;
      readonly message: string;
      /** What the agent would log: database text, never a value. Not for standard error. */
      readonly detail?: string;
    };

export type TrialOutcome = Answer & { readonly durationMs: number };

export interface Trial {
  /** Never rejects: every failure is an outcome. */
  call(call: TrialCall): Promise<TrialOutcome>;
  close(): Promise<void>;
}

/**
 * Runs calls as the agent runs those of a gateway: the same parameters, limits, transactions and rows. Only the caller is
 * not verified. The databases are open before the first call, which so waits for no connection. Rejects with DatabaseError.
 * With `explain`, calls answer with a `QueryPlan`, as JSON, instead of rows.
 */
export async function openTrial(
  { config, prepared, description }: VerifiedAgent,
  { observe, explain = false }: { readonly observe?: Observe; readonly explain?: boolean } = {},
): Promise<Trial> {
  const { runtime, identity } = config;
  const opened = new Map<string, OpenedDatabase>();
  for (const [name, settings] of Object.entries(config.databases)) {
    const driver = driverOf(settings.driver);
    const database = explain
      ? (await driver.loadExplain()).connect(settings)
      : driver.connect(settings, () => {});
    opened.set(name, { database });
  }
  const { served } = await closeUnless(opened, async () => {
    await pingAll(opened);
    return prepareSet({ config, prepared, description }, databasesOf(opened));
  });
  /** Who makes each call under way, and what the agent logs of it, by the id of the call. */
  const callers = new Map<string, Caller>();
  const details = new Map<string, string>();
  const handle = createRunCall({
    served: () => served,
    service: config.serviceId,
    ...(identity === undefined
      ? {}
      : {
          identify: ({ request_id: id = '' }) => {
            const caller = callers.get(id);
            return caller === undefined
              ? { kind: 'refused', detail: 'nobody calls' }
              : { kind: 'known', caller };
          },
        }),
    admissions: createAdmissions(runtime),
    observe: (event) => {
      observe?.(event);
      if (event.event === 'call' && event.detail !== undefined) details.set(event.request_id, event.detail);
    },
    now: () => performance.now(),
    draining: () => false,
  });
  return {
    async call({ capability, params, caller }) {
      const id = randomUUID();
      callers.set(id, caller);
      const startedAt = performance.now();
      const outcome = await handle({
        capability,
        params,
        timeoutMs: Number.POSITIVE_INFINITY,
        metadata: {
          request_id: id,
          principal: caller.principal,
          api_key_name: caller.keyName,
          service: config.serviceId ?? DEFAULT_SERVICE,
        },
        signal: createAbort().signal,
      });
      const durationMs = performance.now() - startedAt;
      const detail = details.get(id);
      callers.delete(id);
      details.delete(id);
      if (outcome.kind === 'error') {
        const { code, message } = outcome;
        return { kind: 'error', code, message, ...(detail === undefined ? {} : { detail }), durationMs };
      }
      outcome.release();
      const { rows, count, truncated, cursor } = outcome;
      const next = cursor === undefined ? {} : { cursor };
      return { kind: 'rows', rows, count, truncated, ...next, durationMs };
    },
    close: () => closeAll(opened),
  };
}
