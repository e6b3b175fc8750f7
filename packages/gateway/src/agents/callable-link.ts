import type { AgentErrorCode, DatabaseState, ManifestEntry, Metadata, ProtocolVersion } from '@svc/protocol';

/** A link of an agent as calls see it, whether this process (`agent-session`) or another one of the replica holds it. */
export interface CallableLink {
  readonly connId: string;
  /** Of the agent process, which may have several links. */
  readonly instanceId: string;
  readonly protocolVersion: ProtocolVersion;
  /**
   * Whom the agent trusts to say who calls: the `gateway`, or the `token`, which it verifies itself and must therefore get.
   * Undefined for an agent that does not ask, as all agents of version 1.
   */
  readonly identity: 'token' | 'gateway' | undefined;
  /** The greatest age, in seconds, of a token that the agent accepts; undefined without a bound. */
  readonly maxTokenAge: number | undefined;
  /** As the agent has reported them: empty until it has. Undefined for an agent that reports none. */
  readonly databases: readonly DatabaseState[] | undefined;
  /** Calls sent and not settled. */
  readonly inFlight: number;
  /** Whether a further call may be sent now. */
  readonly available: boolean;
  /** Undefined when the agent has no such capability. */
  capability(name: string): ManifestEntry | undefined;
  /** `settle` is called exactly once, unless the returned function (cancel) is called first. */
  call(request: AgentRequest, settle: (outcome: AgentOutcome) => void): () => void;
}

/** A link that this process holds. */
export interface OwnLink extends CallableLink {
  /**
   * Makes place for a call of this principal: the newest call of the principal with most calls is cancelled and fails as
   * refused, if that principal then still has as many calls as this one. Returns false if no call can give way; a call
   * whose answer has begun cannot.
   */
  makePlace(principal: string): boolean;
}

export interface AgentRequest {
  readonly capability: string;
  /** JSON object, as the caller sent it. */
  readonly params: Uint8Array;
  /** For the whole run at the agent. */
  readonly timeoutMs: number;
  readonly metadata: Metadata;
  /** The id of the calling principal, so that no principal can occupy the whole agent. */
  readonly principal: string;
}

/** How a call ended; `lost` if the connection ended first. */
export type AgentOutcome =
  | AgentResult
  | {
      readonly kind: 'error';
      readonly code: AgentErrorCode;
      readonly message: string;
      readonly notStarted: boolean;
    }
  | { readonly kind: 'lost'; readonly answerBegun: boolean };

export interface AgentResult {
  readonly kind: 'result';
  /** JSON array, in the pieces in which it arrived. */
  readonly rows: readonly Uint8Array[];
  readonly count: number;
  readonly truncated: boolean;
  /** By which a call goes on after the last row; absent if it has no pages or is not cut. */
  readonly cursor?: string;
  /** Gives the memory of the rows back to the budget; must be called after their delivery. */
  readonly release: () => void;
}

const known = new WeakMap<readonly ManifestEntry[], ReadonlyMap<string, ManifestEntry>>();

/** The entries of a manifest by their names: one map for all links that share the description. */
export function capabilitiesOf(manifest: readonly ManifestEntry[]): ReadonlyMap<string, ManifestEntry> {
  const made = known.get(manifest) ?? new Map(manifest.map((entry) => [entry.name, entry]));
  known.set(manifest, made);
  return made;
}
