import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  startService,
  temporaryFolder,
  testDatabase,
  type Service,
  type TemporaryFolder,
  type TestDatabase,
} from '@svc/testkit';
import { createReader, fillFolder, saveFile, startDev, type Workbench } from '../../workbench.testing.ts';
import { CONSOLE_ENV, consoleUrl, TOKEN } from '../console.testing.ts';
import { CHROMIUM, startChromium, watchPage, type WatchedPage } from './chromium.testing.ts';
import { expectSound, readAxe } from './sound.testing.ts';

/** The numbers of `far` are beyond those that JavaScript keeps. */
const SQL = `
  create table invoice (id int primary key, far bigint not null unique, customer_id int not null, total numeric(10, 2));
  insert into invoice select i, 9007199254740992 + i, i % 4, i % 11 from generate_series(1, 100) i;
`;
const CAPABILITIES = `
  list_invoices:
    description: Invoices
    sql: select id, customer_id, total from invoice where {filters}
    params:
      customer: { type: integer, filter: customer_id = :customer }
    sort: { newest: id desc, largest: total desc }
    paging: id
    policy: { max_rows: 20 }
    result:
      id: { type: integer, nullable: false }
      customer_id: { type: integer }
      total: { type: number }
  far_invoices:
    description: Invoices by a long number
    sql: select far, id from invoice where far > coalesce(:after, 0) order by far
    params:
      after: { type: integer }
    paging: { after: far }
    policy: { max_rows: 40 }
    result:
      far: { type: integer }
      id: { type: integer }
  all_invoices:
    description: Invoices without pages
    sql: select id from invoice order by id limit 30
    policy: { max_rows: 20 }
    result:
      id: { type: integer }
`;

let database: TestDatabase;
let service: Service;
let operator: string;
let folder: TemporaryFolder;
let bench: Workbench;
let browser: Browser;
let axe: string;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  database = await testDatabase({ sql: [SQL] });
  const reader = await createReader(database);
  folder = await temporaryFolder('next-page');
  await fillFolder(folder.path, reader);
  await saveFile(folder.path, database, reader, CAPABILITIES);
  [service, bench, browser, axe] = await Promise.all([
    startService({
      database,
      capabilities: `capabilities:${CAPABILITIES}`,
      gatewayEnv: { ...CONSOLE_ENV, GATEWAY_CONSOLE_PUBLIC: 'true' },
    }),
    startDev(folder.path),
    startChromium(),
    readAxe(),
  ]);
  operator = await consoleUrl(service.gateway);
});
afterAll(async () => {
  await browser?.close();
  await bench?.process.stop();
  await service?.stop();
  await folder?.remove();
});

type Options = Parameters<typeof watchPage>[2];

/** The page Capabilities at one of the three consoles, with a key. */
async function openAt(of: 'operators' | 'callers' | 'authors', options: Options = {}): Promise<WatchedPage> {
  const url = {
    operators: `${operator}/console/#token=${TOKEN}`,
    callers: `${service.url}/console/`,
    authors: String(bench?.first['console_url']),
  }[of];
  const key = of === 'authors' ? String(bench.first['api_key']) : service.apiKeys['all'];
  const watched = await watchPage(browser, new URL(url).origin, options);
  const { page } = watched;
  await page.goto(url);
  if (of !== 'callers') {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.evaluate(`location.hash = '#/Capabilities'`);
  }
  await page.getByLabel('API key').fill(key ?? '');
  await page.getByRole('button', { name: 'Use this key' }).click();
  await page.getByRole('button', { name: 'Run' }).waitFor();
  return watched;
}

async function choose(page: Page, capability: string): Promise<void> {
  await page.getByLabel('Capability', { exact: true }).selectOption(capability);
}

async function run(page: Page, summary: string): Promise<void> {
  await page.getByRole('button', { name: 'Run' }).click();
  await page.getByRole('status').getByText(summary).waitFor();
}

/** The shown values of a column, from the first row to the last. */
async function shown(page: Page, column: string): Promise<readonly string[]> {
  return page.evaluate<readonly string[]>(`(() => {
    const [head, ...rows] = document.querySelectorAll('main table tr');
    const at = [...head.cells].findIndex((cell) => cell.textContent === ${JSON.stringify(column)});
    return rows.map((row) => row.cells[at].textContent);
  })()`);
}

const nextOf = (page: Page) => page.getByRole('button', { name: 'Next page' });
const firstOf = (page: Page) => page.getByRole('button', { name: 'First page' });
const FOCUSED = 'document.activeElement.textContent';

/** Presses Enter on the button, which keeps the focus, until the last page is there. */
async function walkByKeyboard(page: Page, column: string): Promise<readonly string[]> {
  const seen = [...(await shown(page, column))];
  await nextOf(page).focus();
  for (let number = 2; (await nextOf(page).count()) > 0; number++) {
    expect(await page.evaluate(FOCUSED)).toBe('Next page');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText(`Page ${number}`).waitFor();
    seen.push(...(await shown(page, column)));
  }
  await page.getByRole('status').getByText(', the last: ').waitFor();
  return seen;
}

async function wholeList(column: string, rest = ''): Promise<readonly string[]> {
  const rows = await database.query<{ value: string }>(
    `select ${column}::text as value from invoice ${rest}`,
  );
  return rows.map(({ value }) => value);
}

describe.skipIf(CHROMIUM === undefined)('the button for the next page', () => {
  test.each(['operators', 'callers', 'authors'] as const)('walks a list to its end for %s', async (of) => {
    const { page, faults, close } = await openAt(of);
    await choose(page, 'list_invoices');
    await run(page, 'Page 1: ');
    expect(await walkByKeyboard(page, 'id')).toEqual(await wholeList('id', 'order by id desc'));
    // The button that was pressed is gone, and the focus is on the other one.
    expect(await page.evaluate(FOCUSED)).toBe('First page');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Page 1: ').waitFor();
    expect(await page.evaluate(FOCUSED)).toBe('Next page');
    expect(await firstOf(page).count()).toBe(0);
    expect(await shown(page, 'id')).toEqual(await wholeList('id', 'order by id desc limit 20'));
    expect(faults).toEqual([]);
    await close();
  });

  test('goes on in the order and with the filter of its list, whatever the form says by then', async () => {
    const { page, faults, close } = await openAt('callers');
    await choose(page, 'list_invoices');
    const sort = page.getByLabel('sort', { exact: true });
    expect(await sort.getByRole('option').allTextContents()).toEqual(['newest', 'largest']);
    expect(await sort.inputValue()).toBe('newest');
    await page.getByLabel('What is sent of sort').selectOption('value');
    expect(await sort.inputValue()).toBe('newest');
    await sort.selectOption('largest');
    await page.getByLabel('customer', { exact: true }).fill('3');
    await run(page, 'Page 1: ');
    await sort.selectOption('newest');
    await page.getByLabel('customer', { exact: true }).fill('2');
    expect(await walkByKeyboard(page, 'id')).toEqual(
      await wholeList('id', 'where customer_id = 3 order by total desc, id desc'),
    );
    await run(page, 'Page 1: ');
    expect(await shown(page, 'customer_id')).toEqual(Array(20).fill('2'));
    expect(faults).toEqual([]);
    await close();
  });

  test('sends the parameters that a mapping names, with each digit', async () => {
    const { page, faults, close } = await openAt('operators');
    await choose(page, 'far_invoices');
    await run(page, 'Page 1: ');
    expect(await walkByKeyboard(page, 'far')).toEqual(await wholeList('far', 'order by far'));
    expect(faults).toEqual([]);
    await close();
  });

  test('is not there where the browser has rounded what it would send', async () => {
    const { page, close } = await openAt('callers', { script: 'delete JSON.rawJSON;' });
    await choose(page, 'far_invoices');
    await run(page, '40 rows, truncated');
    expect(await nextOf(page).count()).toBe(0);
    await choose(page, 'list_invoices');
    await run(page, 'Page 1: ');
    expect(await walkByKeyboard(page, 'id')).toEqual(await wholeList('id', 'order by id desc'));
    await close();
  });

  test('is not there without `next`, and nobody is asked for a cursor', async () => {
    const { page, faults, close } = await openAt('callers');
    await choose(page, 'all_invoices');
    await run(page, '20 rows, truncated');
    expect(await page.getByRole('status').textContent()).not.toContain('Page');
    expect(await nextOf(page).or(firstOf(page)).count()).toBe(0);
    await choose(page, 'list_invoices');
    await page.getByLabel('customer', { exact: true }).fill('5');
    await run(page, '0 rows');
    expect(await nextOf(page).or(firstOf(page)).count()).toBe(0);
    expect(await page.locator('form label').allTextContents()).toEqual(['customer', 'sort']);
    expect(faults).toEqual([]);
    await close();
  });

  test('can be pressed again after a page that did not come', async () => {
    const { page, faults, close } = await openAt('callers');
    await choose(page, 'list_invoices');
    await run(page, 'Page 1: ');
    await page.getByLabel('JSON').check();
    await nextOf(page).click();
    await page.getByRole('status').getByText('Page 2: ').waitFor();
    await page.route('**/capabilities/list_invoices', (route) =>
      route.fulfill({ status: 503, json: { error: { code: 'GATEWAY_AGENT_OFFLINE', message: 'no agent' } } }),
    );
    await nextOf(page).click();
    await page.getByRole('alert').getByText('Page 3: 503 GATEWAY_AGENT_OFFLINE: no agent').waitFor();
    await page.getByRole('status').getByText('Page 2: ').waitFor();
    expect(await page.evaluate(FOCUSED)).toBe('Next page');
    await page.unroute('**/capabilities/list_invoices');
    await nextOf(page).click();
    await page.getByRole('status').getByText('Page 3: ').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    // What was checked holds for all pages.
    expect(await page.getByLabel('JSON').isChecked()).toBe(true);
    await page.getByLabel('JSON').uncheck();
    expect(await shown(page, 'id')).toEqual(await wholeList('id', 'order by id desc limit 20 offset 40'));
    // The browser tells of the refusal by itself.
    expect(faults).toEqual([expect.stringContaining('503 (Service Unavailable)')]);
    await close();
  });

  describe.each([400, 800, 1280])('at %i px', (width) => {
    test.each(['light', 'dark'] as const)('is sound in the %s scheme', async (colorScheme) => {
      const options = { viewport: { width, height: 800 }, colorScheme, script: axe } as const;
      const { page, faults, close } = await openAt('operators', options);
      await choose(page, 'list_invoices');
      await run(page, 'Page 1: ');
      await expectSound(page);
      for (const number of [2, 3, 4, 5]) {
        await nextOf(page).click();
        await page.getByRole('status').getByText(`Page ${number}`).waitFor();
        // A page begins at its first row.
        expect(await page.evaluate('document.querySelector("main .scroll").scrollTop')).toBe(0);
        await page.evaluate('document.querySelector("main .scroll").scrollTop = 200');
        await expectSound(page);
      }
      expect(await nextOf(page).count()).toBe(0);
      expect(faults).toEqual([]);
      await close();
    });
  });
});
