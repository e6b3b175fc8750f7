import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

interface Props {
  readonly onKey: (key: string) => void;
}

export function KeyForm({ onKey }: Props): JSX.Element {
  const [text, setText] = useState('');
  return (
    <form
      class="panel"
      onSubmit={(event) => {
        event.preventDefault();
        onKey(text.trim());
      }}
    >
      <label for="key">API key</label>
      <input
        id="key"
        type="password"
        autocomplete="off"
        required
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <p>
        This page shows and calls the capabilities that this key permits. The key stays in the memory of this
        page.
      </p>
      <button type="submit">Use this key</button>
    </form>
  );
}
