import type { Example } from '../capabilities/example.ts';
import type { Capability } from '../capabilities/model.ts';
import type { Show } from './compare-rows.ts';
import { judge, type Answer } from './judge.ts';
import type { ExampleResult } from './report.ts';

/** Calls a capability as a call of a gateway would, and says how that ended. */
type CallExample = (capability: Capability, example: Example) => Promise<Answer>;

export interface RunExamplesOptions {
  readonly call: CallExample;
  readonly show: Show;
  readonly now: () => number;
  readonly onProgress: (done: number, all: number) => void;
}

/** One after the other, so that no example costs another its time. */
export async function runExamples(
  capabilities: readonly Capability[],
  { call, show, now, onProgress }: RunExamplesOptions,
): Promise<readonly ExampleResult[]> {
  const all = capabilities.flatMap((capability) =>
    (capability.examples ?? []).map((example, index) => ({ capability, example, number: index + 1 })),
  );
  const results: ExampleResult[] = [];
  for (const { capability, example, number } of all) {
    onProgress(results.length, all.length);
    const began = now();
    const answer = await call(capability, example);
    const ms = now() - began;
    const problems = judge(example.expect, answer, ms, show);
    results.push({
      capability: capability.name,
      number,
      position: example.position,
      hasPrincipal: example.principal !== undefined,
      ms,
      problems,
    });
  }
  return results;
}
