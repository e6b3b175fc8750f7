import type { JSX } from 'preact';
import { refusal, token } from '../session.ts';

export function TokenForm(): JSX.Element {
  function onSubmit(event: SubmitEvent): void {
    event.preventDefault();
    const field = document.querySelector<HTMLInputElement>('#token');
    refusal.value = '';
    token.value = field?.value.trim() ?? '';
  }
  return (
    <form class="panel" onSubmit={onSubmit}>
      <h1>Console</h1>
      <label for="token">Token of the console</label>
      <input id="token" type="password" autocomplete="off" required />
      <p>
        <code>svc-gateway create-console-token</code> makes one. It stays in this page's memory.
      </p>
      <p role="alert">{refusal}</p>
      <button type="submit">Open</button>
    </form>
  );
}
