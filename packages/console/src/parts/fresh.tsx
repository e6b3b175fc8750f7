import type { JSX } from 'preact';
import type { Polled } from '../poll.ts';

interface Props<T> {
  readonly polled: Polled<T>;
  readonly children: (data: T) => JSX.Element;
}

/** The last polled data, and above it the fault since then. */
export function Fresh<T>({ polled: { data, fault }, children }: Props<T>): JSX.Element {
  return (
    <>
      {(data === undefined || fault !== undefined) && <Notice fault={fault} />}
      {data !== undefined && children(data)}
    </>
  );
}

/** What is wrong, or that there is nothing yet. */
export function Notice({ fault }: { readonly fault: string | undefined }): JSX.Element {
  return <p role={fault === undefined ? 'status' : 'alert'}>{fault ?? 'Loading …'}</p>;
}
