import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createAgentSecret, gatewaySettings, startGateway } from '@svc/testkit';
import { CONSOLE_ENV, consoleUrl, TOKEN } from '../console.testing.ts';
import { ROOT } from '../../documentation/documents.ts';
import { CHROMIUM, startChromium, watchPage } from './chromium.testing.ts';
import {
  AGENTS,
  AUTHOR_FILE,
  AUTHORED,
  CALLS,
  KEYS,
  NOW,
  OPENAPI,
  overview,
  ROWS,
} from './screenshots.data.ts';

const FOLDER = join(ROOT, 'docs/guides/console');
const WIDE = { width: 1280, height: 760 };
const NARROW = { width: 400, height: 760 };

const SHOTS = [
  { name: 'overview', open: 'Overview', viewport: WIDE, colorScheme: 'light' },
  { name: 'overview-narrow', open: 'Overview', viewport: NARROW, colorScheme: 'dark' },
  { name: 'capabilities', open: 'Capabilities', viewport: WIDE, colorScheme: 'light' },
  { name: 'calls', open: 'Calls', viewport: { width: 1280, height: 560 }, colorScheme: 'dark' },
  { name: 'keys', open: 'Keys', viewport: { width: 1280, height: 660 }, colorScheme: 'light' },
  { name: 'author', open: 'File', viewport: WIDE, colorScheme: 'light' },
] as const;

/** Writes the pictures of the guide; the data are always the same. */
export async function main(): Promise<number> {
  if (CHROMIUM === undefined) return 1;
  const { agent_public_key: key } = createAgentSecret();
  const { process: gateway } = await startGateway({ ...gatewaySettings(key, []), ...CONSOLE_ENV });
  const browser = await startChromium();
  try {
    const url = await consoleUrl(gateway);
    await mkdir(FOLDER, { recursive: true });
    for (const { name, open, ...options } of SHOTS) {
      const { page, close } = await watchPage(browser, url, options);
      await page.clock.setFixedTime(NOW);
      await answerAlwaysTheSame(page);
      if (open === 'File') await showAsAuthor(page);
      await page.goto(`${url}/console/#token=${TOKEN}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.evaluate(`location.hash = '#/${open}'`);
      await page.getByRole('heading', { name: open, level: 1 }).waitFor();
      if (open === 'Capabilities') await callOnce(page);
      else await page.getByRole('table').first().waitFor();
      if (open === 'Keys') await page.getByText('Who may call what').click();
      await page.evaluate('document.activeElement.blur()');
      await page.screenshot({ path: join(FOLDER, `${name}.png`), animations: 'disabled' });
      await close();
    }
    return 0;
  } finally {
    await browser.close();
    await gateway.stop();
  }
}

async function answerAlwaysTheSame(page: Page): Promise<void> {
  const answers = {
    '**/console/data/overview': overview(),
    '**/console/data/calls?*': CALLS,
    '**/console/data/keys': KEYS,
    '**/console/data/agents': AGENTS,
    '**/console/data/author': AUTHOR_FILE,
    '**/console/data/author?*': AUTHORED,
    '**/openapi.json': OPENAPI,
    '**/api/v1/capabilities/*': ROWS,
  };
  for (const [path, json] of Object.entries(answers)) {
    await page.route(path, (route) => route.fulfill({ json }));
  }
}

/** The pages are the same for everybody but for whom they say that they are for. */
async function showAsAuthor(page: Page): Promise<void> {
  await page.route('**/console/', async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace('data-mode="operator"', 'data-mode="author"');
    await route.fulfill({ response, body });
  });
}

async function callOnce(page: Page): Promise<void> {
  await page.getByLabel('API key').fill('any');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('table').waitFor();
}
