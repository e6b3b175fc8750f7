import type { Exchange } from '../http/exchange.ts';

export interface HealthState {
  readonly agentConnected: () => boolean;
  /** Whether the databases that GATEWAY_READY_DATABASES asks for are ready; absent when it asks for none. */
  readonly databasesReady?: (() => boolean) | undefined;
  readonly shuttingDown: () => boolean;
  /** Whether agents have had time to connect since the replica started. */
  readonly settled: () => boolean;
}

/** GET /healthz: whether the process serves. */
export function createHealth(state: HealthState): (exchange: Exchange) => void {
  return (exchange) => {
    const ok = !state.shuttingDown();
    answer(exchange, ok ? 200 : 503, { ok, agent_connected: state.agentConnected() });
  };
}

/** GET /readyz: whether calls can succeed now. */
export function createReady(state: HealthState): (exchange: Exchange) => void {
  return (exchange) => {
    const databases = state.databasesReady && { databases_ready: state.databasesReady() };
    const ok =
      !state.shuttingDown() &&
      state.settled() &&
      state.agentConnected() &&
      databases?.databases_ready !== false;
    answer(exchange, ok ? 200 : 503, { ok, agent_connected: state.agentConnected(), ...databases });
  };
}

function answer(exchange: Exchange, status: number, body: Readonly<Record<string, boolean>>): void {
  exchange.send(status, [], [Buffer.from(JSON.stringify(body))]);
}
