import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { findProgram } from '@svc/testkit';

/** Of the system: tests download no browser. */
export const CHROMIUM: string | undefined = findProgram('chromium');
if (CHROMIUM === undefined) {
  process.stderr.write(
    '\nSKIPPED: the console in a browser, for want of chromium; to run it: apt-get install chromium\n',
  );
}

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export function startChromium(): Promise<Browser> {
  return chromium.launch({ executablePath: CHROMIUM ?? '', args: FLAGS });
}

export interface WatchedPage {
  readonly page: Page;
  /** Errors on the console, violations of the policy, exceptions, and requests to other origins. */
  readonly faults: readonly string[];
  readonly close: () => Promise<void>;
}

/** What a page reports of its policy also reaches the console of the browser, but not where it says what was blocked. */
const TELL_VIOLATIONS = `addEventListener('securitypolicyviolation', (event) =>
  console.error('policy: ' + event.effectiveDirective + ' ' + event.blockedURI + ' ' + event.sample));`;

/** A page in a context of its own, which keeps a list of what it must not do. `origin` is all that it may speak to. */
export async function watchPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions & { readonly script?: string } = {},
): Promise<WatchedPage> {
  const { script = '', ...contextOptions } = options;
  const context = await browser.newContext({ locale: 'en-GB', timezoneId: 'UTC', ...contextOptions });
  await context.addInitScript(`${TELL_VIOLATIONS}\n${script}`);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) faults.push(message.text());
  });
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('request', (request) => {
    if (new URL(request.url()).origin !== origin) faults.push(`request to ${request.url()}`);
  });
  return { page, faults, close: () => context.close() };
}
