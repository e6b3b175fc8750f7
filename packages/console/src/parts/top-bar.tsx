import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { isDark } from '../scheme.ts';

interface Props {
  readonly pages: readonly string[];
  readonly current: string;
}

/** The pages, behind a button where there is little room, and the switch of the colour scheme. */
export function TopBar({ pages, current }: Props): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <header
      onKeyDown={({ key }) => {
        if (key !== 'Escape' || !isOpen) return;
        setIsOpen(false);
        document.querySelector<HTMLElement>('#menu')?.focus();
      }}
    >
      {pages.length > 0 && (
        <button
          type="button"
          id="menu"
          class="plain"
          aria-label="Menu"
          aria-expanded={isOpen}
          aria-controls="pages"
          onClick={() => setIsOpen(!isOpen)}
        >
          ☰
        </button>
      )}
      <strong>svc</strong>
      {pages.length > 0 && (
        <nav id="pages" aria-label="Pages" class={isOpen ? 'open' : undefined}>
          {pages.map((name) => (
            <a
              key={name}
              href={`#/${name}`}
              aria-current={name === current ? 'page' : undefined}
              onClick={() => setIsOpen(false)}
            >
              {name}
            </a>
          ))}
        </nav>
      )}
      <button
        type="button"
        class="plain scheme"
        aria-label="Dark colours"
        aria-pressed={isDark.value}
        onClick={() => (isDark.value = !isDark.value)}
      >
        ◐
      </button>
    </header>
  );
}
