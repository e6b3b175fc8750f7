import type { Example } from '../capabilities/example.ts';
import type { Capability } from '../capabilities/model.ts';
import type { Answer } from '../trial/open-trial.ts';
import { judge, type Show } from './judge.ts';
import type { ExampleResult } from './report.ts';

export interface RunExamplesOptions {
  /** Calls a capability as a call of a gateway would. */
  readonly call: (capability: Capability, example: Example) => Promise<Answer>;
  readonly show: Show;
  readonly now: () => number;
  readonly onProgress: (done: number, all: number) => void;
}

/** Runs the examples one after the other: at once, they would slow each other down beyond their `max_ms`. */
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
