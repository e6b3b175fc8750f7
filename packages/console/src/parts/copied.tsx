import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

export function Copied({ texts }: { readonly texts: Readonly<Record<string, string>> }): JSX.Element {
  const names = Object.keys(texts);
  const [shown, setShown] = useState(names[0] ?? '');
  const [told, setTold] = useState('');
  const text = texts[shown] ?? '';
  return (
    <details>
      <summary>Call it elsewhere</summary>
      <p>
        {names.map((name) => (
          <button type="button" key={name} aria-pressed={name === shown} onClick={() => setShown(name)}>
            {name}
          </button>
        ))}
        <button
          type="button"
          onClick={() => {
            // Without TLS and off this machine, browsers have no clipboard.
            void Promise.resolve(navigator.clipboard?.writeText(text)).then(
              () => setTold(navigator.clipboard === undefined ? 'Select the text and copy it' : 'Copied'),
              () => setTold('Select the text and copy it'),
            );
          }}
        >
          Copy
        </button>{' '}
        <span role="status">{told}</span>
      </p>
      <pre class="scroll" tabIndex={0}>
        {text}
      </pre>
    </details>
  );
}
