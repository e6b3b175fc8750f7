import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** For the pages that are to be judged. */
export function readAxe(): Promise<string> {
  return readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
}

async function judge(page: Page): Promise<readonly string[]> {
  const { violations, passes } = await page.evaluate<AxeResults>(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)} })`,
  );
  expect(passes.length).toBeGreaterThan(10);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

/** Axe finds nothing, and the page is as wide as its window. */
export async function expectSound(page: Page): Promise<void> {
  expect(await judge(page)).toEqual([]);
  const [wide, room] = await page.evaluate<readonly [number, number]>(
    '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
  );
  expect(wide).toBeLessThanOrEqual(room);
}
