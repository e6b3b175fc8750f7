import { testDatabase } from '@svc/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { LinkFault } from './link-fault.testing.ts';
import { SCENE_SQL, startScene, type LinkScene } from './link-scene.testing.ts';
import { expectBack, sizesOf, type Sizes } from './link-sizes.testing.ts';
import { warmUp } from './link-warm-up.testing.ts';

/** A test for each short form; one scene lives through all of them. */
export function testLinkFaults(faults: readonly LinkFault[]): void {
  let scene: LinkScene;
  let before: Sizes;
  beforeAll(async () => {
    scene = await startScene(await testDatabase({ sql: [SCENE_SQL] }));
    await warmUp(scene);
    before = await sizesOf(scene);
  });
  afterAll(() => scene.stop());

  const short = faults.flatMap(({ name, short: run }) => (run === undefined ? [] : [{ name, run }]));
  test.each(short)('$name', { timeout: 30_000 }, async ({ run }) => {
    expect(await run(scene)).toMatch(/\d/);
    await expectBack(scene, before);
  });
}
