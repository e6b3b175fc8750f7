import { signal, type Signal } from '@preact/signals';

const mode = document.documentElement.dataset['mode'] ?? '';
/** Operators and authors of the file have data endpoints and a token for them; callers have only an API key. */
export const isOperator: boolean = mode !== 'caller';
/** Authors of the file may have a gateway, whose operators they are then. */
export const isAuthor: boolean = mode.startsWith('author');
export const hasGateway: boolean = mode !== 'author-alone';

/** In memory only, as is the key: a page that is loaded again asks for both. */
export const token: Signal<string> = signal('');
export const apiKey: Signal<string> = signal('');
export const refusal: Signal<string> = signal('');

/** Takes the token from the fragment of the URL, which no server sees, and removes it from the history. */
export function takeToken(): void {
  const found = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (found === undefined) return;
  history.replaceState(null, '', location.pathname);
  token.value = found;
}

/** For what the gateway answers; a token is sent where there is one. */
export function headersFor(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { ...(token.value === '' ? {} : { Authorization: `Bearer ${token.value}` }), ...more };
}
