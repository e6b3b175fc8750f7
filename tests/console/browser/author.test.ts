import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { temporaryFolder, testDatabase, type TemporaryFolder } from '@svc/testkit';
import { createReader, fillFolder, saveFile, startDev, type Workbench } from '../../workbench.testing.ts';
import { CHROMIUM, startChromium, watchPage } from './chromium.testing.ts';
import { HOSTILE, TURNED } from './scene.testing.ts';
import { expectSound, readAxe } from './sound.testing.ts';

const FILM = `  get_film:
    description: ${JSON.stringify(`One film. ${HOSTILE} ${TURNED}`)}
    sql: ${JSON.stringify(`SELECT id, title FROM film WHERE id = :id /* ${HOSTILE} */`)}
    params: { id: { type: integer, required: true, description: ${JSON.stringify(HOSTILE)} } }
    result: { id: { type: integer }, title: { type: string, description: ${JSON.stringify(HOSTILE)} } }
    examples: [{ params: { id: 1 }, expect: { rows: [{ title: ${JSON.stringify(HOSTILE)} }] } }]
  films: { sql: SELECT title FROM film, result: { title: { type: string } } }
  sorted_films:
    sql: SELECT id, title FROM film WHERE {filters}
    params: { part: { type: string, filter: ${JSON.stringify(`strpos(title, :part) > 0 and title <> '${HOSTILE.replaceAll("'", '')}'`)} } }
    sort: { by_title: title, newest: id desc }
    paging: id
    result: { id: { type: integer, nullable: false }, title: { type: string } }
`;

let browser: Browser;
let axe: string;
let folder: TemporaryFolder;
let bench: Workbench;
let save: (capabilities: string) => Promise<void>;

beforeAll(async () => {
  if (CHROMIUM === undefined) return;
  const database = await testDatabase({ sql: ['create table film (id int primary key, title text)'] });
  const reader = await createReader(database);
  folder = await temporaryFolder('author-pages');
  await fillFolder(folder.path, reader);
  save = (capabilities) => saveFile(folder.path, database, reader, capabilities);
  await save(FILM);
  [bench, browser, axe] = await Promise.all([startDev(folder.path), startChromium(), readAxe()]);
});
afterAll(async () => {
  await browser?.close();
  await bench?.process.stop();
  await folder?.remove();
});

describe.skipIf(CHROMIUM === undefined).each([400, 1280])('the page of authors at %i px', (width) => {
  test.each(['light', 'dark'] as const)('in the %s scheme', async (colorScheme) => {
    const url = String(bench.first['console_url']);
    const options = { viewport: { width, height: 800 }, colorScheme, script: axe } as const;
    const { page, faults, close } = await watchPage(browser, new URL(url).origin, options);
    await page.goto(url);
    await page.getByText('accepted and served').waitFor();
    await page.getByText('film_pkey').waitFor();
    await page.getByText('order-missing').waitFor();
    await expectSound(page);
    // By the keyboard alone, and the choice outlives a save.
    await page.getByLabel('Name').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByText('It has no description.').waitFor();
    await save(FILM.replace('SELECT title', `SELECT "${HOSTILE.replaceAll('"', '').slice(0, 40)}"`));
    await page.getByText('refused for 1 fault; what was there before is served on').waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('films');
    expect(await page.evaluate<string>('document.activeElement.id')).toBe('authored');
    await expectSound(page);
    await save(FILM);
    await page.getByText('accepted and served').waitFor();
    await page.getByLabel('Name').selectOption('sorted_films');
    await page.getByText('by_title: title asc, id asc').waitFor();
    await page.getByText('filter strpos(title, :part) > 0').waitFor();
    await page.getByText('Plan, with all filters, in the first order').waitFor();
    await expectSound(page);
    expect(await page.evaluate('globalThis.broken')).toBe(undefined);
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(new URL(page.url()).hash).not.toContain('token');
    // The pages of operators are at the same address.
    const menu = page.getByRole('button', { name: 'Menu' });
    if (await menu.isVisible()) await menu.click();
    await page.getByRole('link', { name: 'Agents', exact: true }).click();
    await page.getByText('Connected agents').waitFor();
    expect(faults).toEqual([]);
    await close();
  });
});
