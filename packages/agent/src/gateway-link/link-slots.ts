import type { BackOff } from './back-off.ts';
import type { Target } from './targets.ts';

/** Where a connection got; a link is known by both. */
export interface Place {
  readonly replicaId: string;
  /** 0 where the gateway does not say. */
  readonly worker: number;
}

export interface DialEnd {
  /** Since the welcome, 0 without one. */
  readonly heldMs: number;
  /** The gateway refused the key or the audience. */
  readonly refused: boolean;
  /** The gateway takes no further link there. */
  readonly full: boolean;
  readonly retryAfterMs: number;
}

/** What the end of a connection means; `left` is none. `retryInMs` is undefined where the link is not replaced by its end. */
export type Aftermath = 'left' | { readonly retryInMs: number | undefined };

export type SlotState =
  | { readonly name: 'waiting'; readonly until: number }
  | { readonly name: 'seeking' }
  | (Dialled & { readonly name: 'dialling'; readonly target: Target })
  | (Dialled & { readonly name: 'claimed'; readonly place: Place })
  | (Dialled & { readonly name: 'held'; readonly place: Place; readonly since: number });

export interface Dialled {
  readonly id: number;
  /** Of its offer. */
  readonly generation: number;
}

export type Held = SlotState & { readonly name: 'held' };

export interface Slot {
  backOff: BackOff;
  state: SlotState;
}
