import type { JSX } from 'preact';
import type { Polled } from '../poll.ts';
import { Notice } from './notice.tsx';

interface Props<T> {
  readonly polled: Polled<T>;
  readonly children: (data: T) => JSX.Element;
}

/** What was polled last, and above it what is wrong since. */
export function Fresh<T>({ polled: { data, fault }, children }: Props<T>): JSX.Element {
  return (
    <>
      {(data === undefined || fault !== undefined) && <Notice fault={fault} />}
      {data !== undefined && children(data)}
    </>
  );
}
