import type { TransactionCounts } from '../../driver/driver.ts';
import type { Statement } from '../connection/statement.ts';
import type { BlindCall, GuardedRelation } from '../connection/unit.ts';
import type { DatabaseSession } from '../connection/database-session.ts';

/** What the guards of all connections to a database have found, and the counts of its transactions. */
export class SharedCalls {
  readonly counts: { -readonly [Name in keyof TransactionCounts]: number } = {
    own: 0,
    shared: 0,
    sharedCalls: 0,
    sharedResends: 0,
  };
  readonly #onEnded: (capability: string) => void;
  /** By oid: the number of the trip that was its last. */
  readonly #tripped = new Map<string, number>();
  #trips = 0;

  /** `onEnded` is called once for each query that shares no more. */
  constructor(onEnded: (capability: string) => void = () => {}) {
    this.#onEnded = onEnded;
  }

  /** How many there have been. */
  get trips(): number {
    return this.#trips;
  }

  trip(oids: readonly string[]): void {
    this.#trips += 1;
    for (const oid of oids) this.#tripped.set(oid, this.#trips);
  }

  hasTripped(relations: readonly GuardedRelation[], after: number): boolean {
    return relations.some(({ oid }) => (this.#tripped.get(oid) ?? 0) > after);
  }

  end(capability: string): void {
    this.#onEnded(capability);
  }
}

/** A query whose calls may share transactions until one of its relations trips a guard. It is judged again as another. */
export class SharingQuery {
  readonly #all: SharedCalls;
  readonly #capability: string;
  readonly #relations: readonly GuardedRelation[];
  readonly #searchPath: string;
  #seenTrips: number;
  #isEnded = false;

  /** `searchPath` is that of the account when the query was judged. */
  constructor(
    all: SharedCalls,
    capability: string,
    {
      relations,
      searchPath,
    }: { readonly relations: readonly GuardedRelation[]; readonly searchPath: string },
  ) {
    this.#all = all;
    this.#capability = capability;
    this.#relations = relations;
    this.#searchPath = searchPath;
    this.#seenTrips = all.trips;
  }

  /** Undefined if it may share no more, a pooler could give the session to other clients, or its search path is another. */
  call(
    session: DatabaseSession,
    statement: Statement,
    deadline: number,
    plansEach: boolean,
  ): SharedCall | undefined {
    const { keepsSettings, backend, searchPath, unlocks } = session.facts;
    // On another path the author's names may find other tables.
    const isSamePath = searchPath === this.#searchPath;
    if (!isSamePath || !keepsSettings || backend === undefined || this.#hasEnded()) return undefined;
    const relations = this.#relations;
    return new SharedCall(this.#all, this, { statement, relations, deadline, unlocks, plansEach });
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#all.end(this.#capability);
  }

  #hasEnded(): boolean {
    const { trips } = this.#all;
    if (!this.#isEnded && trips > this.#seenTrips) {
      if (this.#all.hasTripped(this.#relations, this.#seenTrips)) this.end();
      this.#seenTrips = trips;
    }
    return this.#isEnded;
  }
}

/** One attempt of a call to share a transaction. */
export class SharedCall implements BlindCall {
  readonly statement: Statement;
  readonly relations: readonly GuardedRelation[];
  readonly deadline: number;
  readonly unlocks: boolean;
  readonly plansEach: boolean;
  readonly #all: SharedCalls;
  readonly #query: SharingQuery;
  #isShared = false;

  constructor(
    all: SharedCalls,
    query: SharingQuery,
    { statement, relations, deadline, unlocks, plansEach }: Omit<BlindCall, 'onShared' | 'onTripped'>,
  ) {
    this.#all = all;
    this.#query = query;
    this.statement = statement;
    this.relations = relations;
    this.deadline = deadline;
    this.unlocks = unlocks;
    this.plansEach = plansEach;
  }

  /** Whether it has left in a shared transaction. */
  get isShared(): boolean {
    return this.#isShared;
  }

  onShared(isFirst: boolean): void {
    this.#isShared = true;
    if (isFirst) this.#all.counts.shared += 1;
  }

  onTripped(changed: readonly string[] | 'unknown'): void {
    if (changed === 'unknown') this.#query.end();
    else this.#all.trip(changed);
  }
}
