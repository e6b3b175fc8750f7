import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOKEN } from '../console.testing.ts';
import { CHROMIUM, startChromium, watchPage } from './chromium.testing.ts';
import { startScene, type Scene } from './scene.testing.ts';
import { expectSound, readAxe } from './sound.testing.ts';

const SCHEMES = ['light', 'dark'] as const;
const WIDTHS = [400, 1280];

let scene: Scene;
let browser: Browser;
let axe: string;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  axe = await readAxe();
  [scene, browser] = await Promise.all([startScene(), startChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await scene?.service.stop();
});

describe.skipIf(CHROMIUM === undefined).each(WIDTHS)('at %i px', (width) => {
  describe.each(SCHEMES)('in the %s scheme', (colorScheme) => {
    const options = { viewport: { width, height: 800 }, colorScheme } as const;

    test('the pages of operators', async () => {
      const { page, faults, close } = await watchPage(browser, scene.operator, { ...options, script: axe });
      await page.goto(`${scene.operator}/console/`);
      await page.getByLabel('Token of the console').waitFor();
      await expectSound(page);
      await page.getByLabel('Token of the console').fill(TOKEN);
      await page.getByRole('button', { name: 'Open' }).click();
      for (const [name, awaited] of [
        ['Overview', 'Busiest capabilities'],
        ['Calls', 'The last 1000 requests'],
        ['Keys', 'API keys and what they may call'],
        ['Agents', 'Connected agents'],
      ] as const) {
        await openFromMenu(page, name);
        await page.getByText(awaited).waitFor();
        await expectSound(page);
      }
      await openFromMenu(page, 'Capabilities');
      await callWithKey(page);
      expect(faults).toEqual([]);
      await close();
    });

    test('the page of callers', async () => {
      const { page, faults, close } = await watchPage(browser, scene.caller, { ...options, script: axe });
      await page.goto(`${scene.caller}/console/`);
      await page.getByLabel('API key').waitFor();
      await expectSound(page);
      await callWithKey(page);
      expect(faults).toEqual([]);
      await close();
    });
  });
});

async function openFromMenu(page: Page, name: string): Promise<void> {
  const menu = page.getByRole('button', { name: 'Menu' });
  if (await menu.isVisible()) await menu.click();
  await page.getByRole('link', { name, exact: true }).click();
  await page.getByRole('heading', { name, level: 1 }).waitFor();
}

async function callWithKey(page: Page): Promise<void> {
  await page.getByLabel('API key').fill(scene.service.apiKeys['all'] ?? '');
  await page.getByRole('button', { name: 'Use this key' }).click();
  const chosen = page.getByLabel('Capability', { exact: true });
  await chosen.selectOption('wide');
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByText('20 rows').waitFor();
  await page.getByText('Call it elsewhere').click();
  await expectSound(page);
  await page.getByLabel('JSON').check();
  await expectSound(page);
  await chosen.selectOption('fails');
  await expectSound(page);
}
