import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOKEN } from '../console.testing.ts';
import { CHROMIUM, startChromium, watchPage } from './chromium.testing.ts';
import { startScene, type Scene } from './scene.testing.ts';

let scene: Scene;
let browser: Browser;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  [scene, browser] = await Promise.all([startScene(), startChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await scene?.service.stop();
});

const STEPS_MAX = 60;

/** What has the focus, by its label or text. */
const FOCUSED = `(() => {
  const element = document.activeElement;
  return element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? (element.id === 'main' ? 'main' : element.textContent);
})()`;

/** Goes on by Tab until something of that name has the focus, and can be seen to have it. */
async function tabTo(page: Page, name: string): Promise<void> {
  for (let step = 0; step < STEPS_MAX; step++) {
    await page.keyboard.press('Tab');
    const focused = (await page.evaluate<string>(FOCUSED)).trim();
    const outline = await page.evaluate<string>('getComputedStyle(document.activeElement).outlineStyle');
    if (focused !== '' && outline === 'none') throw new Error(`nothing shows that ${focused} has the focus`);
    if (focused === name) return;
  }
  throw new Error(`no way to ${name} by Tab`);
}

describe.skipIf(CHROMIUM === undefined)('by keyboard alone', () => {
  test('an operator signs in, goes by the menu, calls and copies', async () => {
    const { page, faults, close } = await watchPage(browser, scene.operator, {
      viewport: { width: 400, height: 800 },
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    await page.goto(`${scene.operator}/console/`);
    await page.getByLabel('Token of the console').waitFor();
    await tabTo(page, 'Token of the console');
    await page.keyboard.type(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByText('Busiest capabilities').waitFor();
    await page.getByRole('button', { name: 'Menu', expanded: false }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Escape');
    expect(await page.evaluate(FOCUSED)).toBe('Menu');
    expect(await page.getByRole('link', { name: 'Calls', exact: true }).isVisible()).toBe(false);
    await page.keyboard.press('Enter');
    await tabTo(page, 'Capabilities');
    await page.keyboard.press('Enter');
    await page.getByLabel('API key').waitFor();
    expect(await page.evaluate(FOCUSED)).toBe('main');
    await tabTo(page, 'API key');
    await page.keyboard.type(scene.service.apiKeys['all'] ?? '');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Run' }).waitFor();
    await tabTo(page, 'Capability');
    // One letter: a second one that comes late would begin another search.
    await page.keyboard.press('w');
    await page.getByText('Rows of long words').waitFor();
    await tabTo(page, 'Run');
    await page.keyboard.press('Enter');
    await page.getByText('20 rows').waitFor();
    expect(await page.evaluate(FOCUSED)).toBe('Run');
    await tabTo(page, 'Rows');
    await tabTo(page, 'Call it elsewhere');
    await page.keyboard.press('Enter');
    await tabTo(page, 'Copy');
    await page.keyboard.press('Enter');
    await page.getByText('Copied').waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toContain('Bearer $KEY');
    expect(faults).toEqual([]);
    await close();
  });

  test('the content is skipped to, and the focus stays when figures are refreshed', async () => {
    const { page, close } = await watchPage(browser, scene.operator);
    await page.goto(`${scene.operator}/console/#token=${TOKEN}`);
    await page.getByText('Busiest capabilities').waitFor();
    await tabTo(page, 'Skip to content');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(FOCUSED)).toBe('main');
    await tabTo(page, 'Capabilities');
    for (let polls = 0; polls < 2; polls++) {
      await page.waitForEvent('requestfinished', (request) => request.url().endsWith('/overview'));
    }
    expect((await page.evaluate<string>(FOCUSED)).trim()).toBe('Capabilities');
    await page.getByRole('link', { name: 'Calls', exact: true }).press('Enter');
    await page.getByLabel('Text').waitFor();
    await tabTo(page, 'Text');
    await page.keyboard.type('first');
    await expect.poll(() => page.getByRole('row').count()).toBe(2);
    expect((await page.evaluate<string>(FOCUSED)).trim()).toBe('Text');
    await close();
  });
});
