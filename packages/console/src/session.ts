import { signal, type Signal } from '@preact/signals';

const mode = document.documentElement.dataset['mode'] ?? '';
/** Who looks: operators, and who writes the file, have data endpoints and a token for them, callers an API key alone. */
export const isOperator: boolean = mode !== 'caller';
/** Who writes the file: with a gateway beside, whose operator this is as well, or alone. */
export const isAuthor: boolean = mode.startsWith('author');
export const hasGateway: boolean = mode !== 'author-alone';

/** In memory only, as is the key: a page that is loaded again asks for both. */
export const token: Signal<string> = signal('');
export const apiKey: Signal<string> = signal('');
/** Why the last token was refused. */
export const refusal: Signal<string> = signal('');

/** Takes the token that came behind `#`, which goes to no server, and leaves none of it in the history. */
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
