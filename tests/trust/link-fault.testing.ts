import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { RunningProcess } from '@svc/testkit';
import type { LinkScene } from './link-scene.testing.ts';

/** Something that may happen to the link; rejects when a promise was broken, resolves with figures for a person. */
export interface LinkFault {
  readonly name: string;
  /** Some seconds at most; undefined when only the real durations prove anything. */
  readonly short: ((scene: LinkScene) => Promise<string>) | undefined;
  readonly long: (scene: LinkScene) => Promise<string>;
}

export function fault<Scale>(
  name: string,
  scales: { readonly short?: Scale; readonly long: Scale },
  run: (scene: LinkScene, scale: Scale) => Promise<string>,
): LinkFault {
  const { short, long } = scales;
  return {
    name,
    short: short === undefined ? undefined : (scene) => run(scene, short),
    long: (scene) => run(scene, long),
  };
}

export { pause };

/** Asks until it holds; rejects after `withinMs`, naming what was waited for. */
export async function until(
  what: string,
  withinMs: number,
  holds: () => Promise<boolean> | boolean,
): Promise<number> {
  const started = performance.now();
  while (!(await holds())) {
    if (performance.now() - started > withinMs) throw new Error(`not within ${withinMs} ms: ${what}`);
    await pause(20);
  }
  return Math.round(performance.now() - started);
}

/** To be asked after the process has answered something, since its end is told a moment later. */
export async function assertRuns({ exited }: RunningProcess, context: string): Promise<void> {
  assert.equal(await Promise.race([exited, Promise.resolve('runs')]), 'runs', context);
}

/** The numbers from 0, by so many lanes at once. */
export async function inLanes(
  count: number,
  lanes: number,
  work: (index: number) => Promise<void>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** How often each came, as in `200: 17, 503: 2`. */
export function tally(outcomes: readonly (string | number)[]): string {
  const counts = new Map<string | number, number>();
  for (const outcome of outcomes) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, count]) => `${outcome}: ${count}`).join(', ');
}
