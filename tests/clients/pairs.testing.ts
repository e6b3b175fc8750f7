import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { runProcess, SVC_AGENT } from '@svc/testkit';
import { bodiesOf } from '../../packages/agent/src/diff/bodies.testing.ts';
import {
  capabilityPair,
  type CapabilityJson,
} from '../../packages/agent/src/diff/capability-pairs.testing.ts';
import { offerOf } from '../../packages/agent/src/diff/contracts.fixture.ts';

/** How many bodies each capability is called with at most. */
const BODIES = 4;

export type Capabilities = Readonly<Record<string, CapabilityJson>>;
type Body = Readonly<Record<string, unknown>>;

export interface Pairs {
  readonly old: Capabilities;
  readonly now: Capabilities;
  /** Bodies that the old capability takes, by the names of those whose changes `svc-agent diff` calls compatible. */
  readonly compatible: ReadonlyMap<string, readonly Body[]>;
}

interface Report {
  readonly changes: readonly { readonly severity: string; readonly capability?: string }[];
}

/** Many capabilities and what became of them; `svc-agent diff` says in `folder` which of the changes are compatible. */
export async function makePairs(count: number, seed: number, folder: string): Promise<Pairs> {
  const pairs = fc.sample(capabilityPair, { numRuns: count, seed });
  const named = <T>(values: readonly T[]): Readonly<Record<string, T>> =>
    Object.fromEntries(values.map((value, at) => [nameOf(at), value]));
  const old = named(pairs.map((pair) => pair.old));
  const now = named(pairs.map((pair) => pair.now));
  await writeFile(join(folder, 'old.yaml'), JSON.stringify({ capabilities: old }));
  await writeFile(join(folder, 'new.yaml'), JSON.stringify({ capabilities: now }));
  const { stdout, stderr } = await runProcess(SVC_AGENT, ['diff', 'old.yaml', 'new.yaml', '--json'], {
    cwd: folder,
  });
  if (stderr !== '') throw new Error(stderr);
  const { changes }: Report = JSON.parse(stdout);
  const others = new Set(
    changes.filter(({ severity }) => severity !== 'compatible').map(({ capability }) => capability),
  );
  const offered = offerOf({ capabilities: old }).capabilities.filter(({ name }) => !others.has(name));
  return {
    old,
    now,
    compatible: new Map(
      offered.map((capability) => [capability.name, bodiesOf(capability).slice(0, BODIES)]),
    ),
  };
}

/** Of letters alone, which all generators write in one way. */
function nameOf(at: number): string {
  const letter = (value: number): string => String.fromCodePoint(97 + (value % 26));
  return `pair_${letter(Math.floor(at / 26))}${letter(at)}`;
}
