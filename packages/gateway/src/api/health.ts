import type { Exchange } from '../http/exchange.ts';

export interface HealthState {
  readonly agentConnected: () => boolean;
  readonly shuttingDown: () => boolean;
  /** Whether the agents of a replica that started lately have had time to come. */
  readonly settled: () => boolean;
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
    const ok = !state.shuttingDown() && state.settled() && state.agentConnected();
    answer(exchange, ok ? 200 : 503, ok, state);
  };
}

function answer(exchange: Exchange, status: number, ok: boolean, state: HealthState): void {
  exchange.send(status, [], [Buffer.from(JSON.stringify({ ok, agent_connected: state.agentConnected() }))]);
}
