import type { Exchange } from '../http/exchange.ts';

export interface HealthState {
  readonly agentConnected: () => boolean;
  readonly shuttingDown: () => boolean;
  /** Undefined where no key can be revoked. */
  readonly revocations: { readonly known: boolean } | undefined;
}

/** GET /healthz: whether the process serves. */
export function createHealth(state: HealthState): (exchange: Exchange) => void {
  return (exchange) => {
    const ok = !state.shuttingDown();
    answer(exchange, ok ? 200 : 503, ok, state);
  };
}

/** GET /readyz: whether calls can succeed now. */
export function createReady(state: HealthState): (exchange: Exchange) => void {
  return (exchange) => {
    const ok = !state.shuttingDown() && state.agentConnected() && state.revocations?.known !== false;
    answer(exchange, ok ? 200 : 503, ok, state);
  };
}

function answer(exchange: Exchange, status: number, ok: boolean, state: HealthState): void {
  exchange.send(status, [], [Buffer.from(JSON.stringify({ ok, agent_connected: state.agentConnected() }))]);
}
