import { isDeepStrictEqual } from 'node:util';
import type { Capability } from '../capabilities/model.ts';
import type { AgentConfig } from '../config/model.ts';
import { compileParameters } from '../capabilities/parameters.ts';
import { compilePinned, type PinParameters } from '../capabilities/pinned-parameters.ts';
import { sameCapability } from '../capabilities/same-capability.ts';
import type { Database, PreparedCapability, Query } from '../databases/driver/driver.ts';
import { DatabaseError } from '../databases/driver/errors.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { VerifiedAgent } from '../start-up/report.ts';

/** A capability as the agent runs it. */
export interface RunnableCapability {
  /** From a JSON object to values ready to bind; throws InvalidParams. */
  readonly read: (body: Uint8Array) => Record<string, unknown>;
  /** Absent if nothing is taken from the caller. */
  readonly pin?: PinParameters;
  readonly query: Query;
  readonly database: string;
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** All capabilities of one file. Another set takes its place when the file is loaded again. */
export interface ServedSet {
  readonly capabilities: ReadonlyMap<string, RunnableCapability>;
  /** JSON of the Description: the answer of the meta capability. */
  readonly description: Uint8Array;
  began(): void;
  ended(): void;
  /** Resolves when none of its calls is under way. To be called once, when another set has taken its place. */
  idle(): Promise<void>;
}

/** A set with its sources. */
export interface PreparedSet {
  readonly served: ServedSet;
  readonly databases: ReadonlyMap<string, Database>;
  readonly sources: ReadonlyMap<string, Source>;
}

interface Source {
  readonly capability: Capability;
  /** Undefined if it has not been verified. */
  readonly prepared: PreparedCapability | undefined;
  readonly database: Database;
}

type SetContent = Pick<VerifiedAgent, 'prepared' | 'description'> & {
  readonly config: Pick<AgentConfig, 'capabilities'>;
};

/** Compiling the parameters of a thousand capabilities takes a second; calls get their turn after each slice. */
const SLICE_MS = 5;

/**
 * An equal capability of `before`, with the same database, is taken over with all that is known of how it runs. One of
 * `ended`, whose calls no longer share transactions, is not if it was prepared again, even if its preparation is equal.
 */
export async function prepareSet(
  { config: { capabilities }, prepared, description }: SetContent,
  databases: ReadonlyMap<string, Database>,
  before?: PreparedSet,
  ended?: ReadonlySet<string>,
): Promise<PreparedSet> {
  const preparedByName = new Map(prepared.map((each) => [each.capability, each]));
  const sources = new Map<string, Source>();
  const runnable = new Map<string, RunnableCapability>();
  let sliceEnd = performance.now() + SLICE_MS;
  for (const capability of capabilities) {
    const { name } = capability;
    const database = databases.get(capability.database ?? UNNAMED);
    if (database === undefined) throw new Error(`cannot serve: ${name} has no database`);
    const source = { capability, prepared: preparedByName.get(name), database };
    const known = before?.sources.get(name);
    const isEnded = ended?.has(name) === true && known?.prepared !== source.prepared;
    const isSame = !isEnded && known?.database === database && sameSource(known, source);
    const running = isSame ? before?.served.capabilities.get(name) : undefined;
    sources.set(name, source);
    runnable.set(name, running ?? runnableOf(source));
    if (performance.now() < sliceEnd) continue;
    await new Promise((resolve) => setImmediate(resolve));
    sliceEnd = performance.now() + SLICE_MS;
  }
  return { served: createServedSet(runnable, description), databases, sources };
}

const NOT_VERIFIED_QUERY: Query = {
  async run() {
    throw new DatabaseError('not_verified', 'the database has not been verified');
  },
};

function runnableOf({ capability, prepared, database }: Source): RunnableCapability {
  const { timeoutMs, maxBytes } = capability.limits;
  const pin = compilePinned(capability.params);
  return {
    read: compileParameters(capability),
    ...(pin === undefined ? {} : { pin }),
    query: prepared === undefined ? NOT_VERIFIED_QUERY : database.prepare(prepared),
    database: capability.database ?? UNNAMED,
    timeoutMs,
    maxBytes,
  };
}

export function createServedSet(capabilities: ServedSet['capabilities'], description: Uint8Array): ServedSet {
  let calls = 0;
  let onIdle: (() => void) | undefined;
  return {
    capabilities,
    description,
    began() {
      calls += 1;
    },
    ended() {
      calls -= 1;
      if (calls === 0) onIdle?.();
    },
    async idle() {
      if (calls > 0) await new Promise<void>((resolve) => (onIdle = resolve));
    },
  };
}

/** Names of the capabilities in which two sets differ, in the order of their files. */
export interface SetChanges {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

export function changesBetween(
  { sources: before }: PreparedSet,
  { sources: after }: PreparedSet,
): SetChanges {
  const isChanged = (name: string): boolean => {
    const [old, recent] = [before.get(name), after.get(name)];
    return old !== undefined && recent !== undefined && !sameSource(old, recent);
  };
  return {
    added: [...after.keys()].filter((name) => !before.has(name)),
    changed: [...after.keys()].filter(isChanged),
    removed: [...before.keys()].filter((name) => !after.has(name)),
  };
}

/** Equal capabilities are prepared differently after a change of the database. */
function sameSource(a: Source, b: Source): boolean {
  return sameCapability(a.capability, b.capability) && samePrepared(a.prepared, b.prepared);
}

/** What is prepared repeats parts of its capability with their positions in the file, which make no difference. */
function samePrepared(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, index) => samePrepared(each, b[index]));
  if (!isPlain(a) || !isPlain(b)) return isDeepStrictEqual(a, b);
  const keys = [...new Set([...Object.keys(a), ...Object.keys(b)])];
  return keys.every((key) => key === 'position' || samePrepared(a[key], b[key]));
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
