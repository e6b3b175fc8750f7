import { signal, type Signal } from '@preact/signals';
import type { ComponentType, JSX } from 'preact';
import { AgentsPage } from './pages/agents.tsx';
import { AuthorPage } from './pages/author.tsx';
import { CallsPage } from './pages/calls.tsx';
import { CapabilitiesPage } from './pages/capabilities.tsx';
import { KeysPage } from './pages/keys.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { TokenForm } from './parts/token-form.tsx';
import { TopBar } from './parts/top-bar.tsx';
import { hasGateway, isAuthor, isOperator, token } from './session.ts';

const OF_OPERATORS: Readonly<Record<string, ComponentType>> = {
  Overview: OverviewPage,
  Capabilities: CapabilitiesPage,
  Calls: CallsPage,
  Keys: KeysPage,
  Agents: AgentsPage,
};
const OF_CALLERS: Readonly<Record<string, ComponentType>> = { Capabilities: CapabilitiesPage };

const OF_AUTHORS: Readonly<Record<string, ComponentType>> = {
  File: AuthorPage,
  ...(hasGateway ? OF_OPERATORS : {}),
};

const pages = isAuthor ? OF_AUTHORS : isOperator ? OF_OPERATORS : OF_CALLERS;
const [first = ''] = Object.keys(pages);
const current: Signal<string> = signal(pageOf(location.hash));

addEventListener('hashchange', () => {
  current.value = pageOf(location.hash);
  // Where the link was there may be nothing now, and who hears the page begins at its top.
  document.querySelector<HTMLElement>('#main')?.focus({ preventScroll: true });
  scrollTo(0, 0);
});

function pageOf(hash: string): string {
  const name = hash.slice(2);
  return Object.hasOwn(pages, name) ? name : first;
}

export function App(): JSX.Element {
  const Page = pages[current.value];
  const isOpen = !isOperator || token.value !== '';
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        Skip to content
      </a>
      <TopBar key={current.value} pages={isOpen ? Object.keys(pages) : []} current={current.value} />
      <main id="main" tabIndex={-1}>
        {isOpen && Page !== undefined ? <Page /> : <TokenForm />}
      </main>
    </>
  );
}

/** Without a change of the address, which names the page. */
function focusMain(event: Event): void {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
}
