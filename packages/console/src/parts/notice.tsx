import type { JSX } from 'preact';

/** What is wrong, or that there is nothing yet. */
export function Notice({ fault }: { readonly fault: string | undefined }): JSX.Element {
  return <p role={fault === undefined ? 'status' : 'alert'}>{fault ?? 'Loading …'}</p>;
}
