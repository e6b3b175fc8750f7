import { useEffect, useState } from 'preact/hooks';
import { base } from './base.ts';
import { headersFor, refusal, token } from './session.ts';

export interface Polled<T> {
  readonly data: T | undefined;
  readonly fault: string | undefined;
}

const EVERY_MS = 2000;
/** A closed tunnel gives neither an answer nor an error. */
const ANSWER_MS = 10_000;

/** What a data endpoint says, asked for again and again while the page can be seen. */
export function usePolled<T>(path: string): Polled<T> {
  const [polled, setPolled] = useState<Polled<T>>({ data: undefined, fault: undefined });
  useEffect(() => {
    let isOver = false;
    let timer = 0;
    async function ask(): Promise<void> {
      clearTimeout(timer);
      if (document.visibilityState === 'visible') {
        const next = await fetchData<T>(path);
        if (isOver) return;
        setPolled(({ data }) => ({ data: next.data ?? data, fault: next.fault }));
      }
      timer = window.setTimeout(() => void ask(), EVERY_MS);
    }
    const onVisible = (): void => void (document.visibilityState === 'visible' && ask());
    document.addEventListener('visibilitychange', onVisible);
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, [path]);
  return polled;
}

async function fetchData<T>(path: string): Promise<Polled<T>> {
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(`${base}console/data/${path}`, { headers: headersFor(), signal });
    if (response.ok) return { data: await response.json(), fault: undefined };
    const { error } = await response.json();
    if (response.status === 401) {
      token.value = '';
      refusal.value = 'This token is not the one of the console.';
    }
    return { data: undefined, fault: `${error.code}: ${error.message}` };
  } catch {
    return { data: undefined, fault: 'The gateway does not answer; this is tried again.' };
  }
}
