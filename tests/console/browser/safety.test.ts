import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TOKEN } from '../console.testing.ts';
import { CHROMIUM, startChromium, watchPage } from './chromium.testing.ts';
import { BELL, HOSTILE, startScene, TURNED, type Scene } from './scene.testing.ts';

const TRACE_URL = 'https://traces.example/{trace_id}';

let scene: Scene;
let browser: Browser;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  [scene, browser] = await Promise.all([startScene({ GATEWAY_TRACE_URL: TRACE_URL }), startChromium()]);
});
afterAll(async () => {
  await browser?.close();
  await scene?.service.stop();
});

/** Nothing ran, and nothing became an element. */
async function expectOnlyText(page: Page): Promise<void> {
  expect(
    await page.evaluate(
      `[globalThis.broken, document.querySelectorAll('img, iframe, body script, a[href^="javascript:"]').length]`,
    ),
  ).toEqual([undefined, 0]);
}

async function openConsole(page: Page, path = ''): Promise<void> {
  await page.goto(`${scene.operator}/console/#token=${TOKEN}`);
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  if (path === '') return;
  await page.getByRole('link', { name: path, exact: true }).click();
  await page.getByRole('heading', { name: path, level: 1 }).waitFor();
}

describe.skipIf(CHROMIUM === undefined)('what is shown is text', () => {
  test('names of keys and principals, and links to traces that were recorded alone', async () => {
    const { page, faults, close } = await watchPage(browser, scene.operator);
    await openConsole(page, 'Keys');
    await page.getByRole('rowheader', { name: HOSTILE }).first().waitFor();
    await page.getByText('Who may call what').click();
    await page.getByRole('columnheader', { name: HOSTILE }).waitFor();
    await page.getByText('gone (no agent offers it)').waitFor();
    await expectOnlyText(page);
    await page.getByRole('link', { name: 'Calls', exact: true }).click();
    await page.getByRole('cell', { name: HOSTILE }).first().waitFor();
    // Without traces no request has one.
    expect(await page.locator('main a').count()).toBe(0);
    await page.getByLabel('Text').fill(HOSTILE);
    await page
      .getByText('No request is like that.')
      .or(page.getByRole('cell', { name: HOSTILE }))
      .first()
      .waitFor();
    await expectOnlyText(page);
    expect(faults).toEqual([]);
    await close();
  });

  test('descriptions, values, parameters and errors', async () => {
    const { page, faults, close } = await watchPage(browser, scene.caller);
    await page.goto(`${scene.caller}/console/`);
    await page.getByLabel('API key').fill(scene.service.apiKeys['all'] ?? '');
    await page.getByRole('button', { name: 'Use this key' }).click();
    const chosen = page.getByLabel('Capability', { exact: true });
    await chosen.selectOption('get_film');
    const description = page.locator('main > p', { hasText: 'One film by its number' });
    expect(await description.textContent()).toBe(`One film by its number. ${HOSTILE} ${TURNED} ${BELL}`);
    expect(await description.getAttribute('dir')).toBe('auto');
    await page.getByText('Call it elsewhere').click();
    await chosen.selectOption('say');
    await page.getByLabel('What is sent of text').selectOption('value');
    await page.getByLabel('text', { exact: true }).fill(`${HOSTILE}${TURNED}`);
    await page.getByRole('button', { name: 'Run' }).click();
    expect(await page.getByRole('table').getByRole('cell').first().textContent()).toBe(`${HOSTILE}${TURNED}`);
    expect(await page.getByRole('table').getByRole('cell').first().getAttribute('dir')).toBe('auto');
    await page.getByText('Call it elsewhere').click();
    for (const language of ['fetch', 'Python', 'MCP', 'curl']) {
      await page.getByRole('button', { name: language, exact: true }).click();
      await expectOnlyText(page);
    }
    await chosen.selectOption('long');
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('cell', { name: '9007199254740993' }).waitFor();
    await page.route('**/capabilities/long', (route) => route.fulfill({ status: 502, body: '<html>' }));
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').getByText('502 is not an answer of the gateway').waitFor();
    await chosen.selectOption('fails');
    await page
      .getByLabel('n', { exact: true })
      .or(page.getByLabel('n *', { exact: true }))
      .fill(HOSTILE);
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').getByText('AGENT_INVALID_PARAMS').waitFor();
    await expectOnlyText(page);
    // The browser tells of the refusals by itself.
    expect(faults).toEqual([
      expect.stringContaining('502 (Bad Gateway)'),
      expect.stringContaining('400 (Bad Request)'),
    ]);
    await close();
  });
});

describe.skipIf(CHROMIUM === undefined)('secrets of the page', () => {
  test('are in memory alone: not in the address, the history or any storage', async () => {
    const { page, faults, close } = await watchPage(browser, scene.operator);
    await openConsole(page, 'Capabilities');
    await page.getByLabel('API key').fill(scene.service.apiKeys['all'] ?? '');
    await page.getByRole('button', { name: 'Use this key' }).click();
    await page.getByRole('button', { name: 'Run' }).waitFor();
    expect(page.url()).toBe(`${scene.operator}/console/#/Capabilities`);
    const kept = `(async () => JSON.stringify([
      location.href, document.cookie, { ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), await caches.keys(), history.state,
    ]))()`;
    expect(JSON.parse(await page.evaluate<string>(kept))).toEqual([page.url(), '', {}, {}, [], [], null]);
    expect(await page.context().cookies()).toEqual([]);
    await page.goBack();
    expect(page.url()).toBe(`${scene.operator}/console/`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    await page.reload();
    await page.getByLabel('Token of the console').waitFor();
    expect(faults).toEqual([]);
    await close();
  });

  test('a wrong token is asked for again, and said to be wrong', async () => {
    const { page, close } = await watchPage(browser, scene.operator);
    await page.goto(`${scene.operator}/console/`);
    await page.getByLabel('Token of the console').fill('wrong');
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText('This token is not the one of the console.').waitFor();
    expect(await page.getByLabel('Token of the console').inputValue()).toBe('');
    await close();
  });
});

describe.skipIf(CHROMIUM === undefined)('a page of another origin', () => {
  let foreign: Server;
  let origin: string;

  beforeAll(async () => {
    foreign = createServer((_, response) => {
      response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>other</title><body></body>');
    }).listen(0, '127.0.0.1');
    await once(foreign, 'listening');
    const address = foreign.address();
    origin = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  });
  afterAll(() => {
    foreign?.closeAllConnections();
    foreign?.close();
  });

  test('reads, frames, posts and scripts nothing', async () => {
    const { page, close } = await watchPage(browser, origin);
    await page.goto(origin);
    const answers: unknown[] = [];
    page.on('response', (response) => {
      if (!response.url().startsWith(origin)) answers.push(response.status());
    });
    const tried = `(async () => {
      const at = ${JSON.stringify(scene.operator)};
      const read = (path, options) => fetch(at + path, options).then(() => 'read', () => 'refused');
      const headers = { Authorization: ${JSON.stringify(`Bearer ${TOKEN}`)} };
      return Promise.all([
        read('/console/data/overview', { headers }),
        read('/console/data/keys'),
        read('/api/v1/capabilities/get_film', { method: 'POST', body: '{"film_id":1}' }),
        read('/openapi.json'),
      ]);
    })()`;
    expect(await page.evaluate(tried)).toEqual(Array(4).fill('refused'));
    const response = await fetch(`${scene.operator}/console/`);
    const [script = ''] = /\/console\/assets\/[^"]+\.js/.exec(await response.text()) ?? [];
    const scripted = `new Promise((resolve) => {
      const script = document.createElement('script');
      script.onload = () => resolve('ran');
      script.onerror = () => resolve('refused');
      script.src = ${JSON.stringify(scene.operator + script)};
      document.body.append(script);
    })`;
    expect(await page.evaluate(scripted)).toBe('refused');
    const framed = page.waitForResponse((answer) => answer.url() === `${scene.operator}/console/`);
    await page.evaluate(`(() => {
      const frame = document.createElement('iframe');
      frame.src = ${JSON.stringify(`${scene.operator}/console/`)};
      document.body.append(frame);
    })()`);
    expect((await framed).status()).toBe(403);
    expect(answers.filter((status) => status === 200)).toEqual([]);
    await close();
  });
});
