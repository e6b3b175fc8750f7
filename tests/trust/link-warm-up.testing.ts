import type { LinkScene } from './link-scene.testing.ts';

/** Makes the threads, pools and caches that a service at work has. */
export async function warmUp(scene: LinkScene): Promise<void> {
  const { caller } = scene;
  for (let round = 0; round < 3; round++) {
    await Promise.all(Array.from({ length: 100 }, () => caller.call('sleep', { seconds: 0.01 })));
    await Promise.all(Array.from({ length: 100 }, (_, id) => caller.call('get_item', { id })));
    await Promise.all(Array.from({ length: 4 }, () => caller.call('large', { pieces: 20 })));
  }
  await caller.call('list_items', { after: 0 });
  await caller.call('slow_item', { id: 1 });
  scene.hangUp();
}
