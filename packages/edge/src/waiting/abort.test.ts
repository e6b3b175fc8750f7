import { expect, test } from 'vitest';
import { createAbort, type AbortSignalLike } from './abort.ts';

test.each([
  ['ours', createAbort],
  ['the platform’s', () => new AbortController()],
])('%s calls its listeners once', (_name, create) => {
  const controller: { readonly signal: AbortSignalLike; abort(): void } = create();
  const { signal } = controller;
  const told: string[] = [];
  const left = (): unknown => told.push('left');
  signal.addEventListener('abort', left);
  signal.addEventListener('abort', () => {
    told.push(`first, aborted: ${signal.aborted}`);
    controller.abort();
  });
  signal.addEventListener('abort', () => told.push('second'));
  signal.removeEventListener('abort', left);
  expect(signal.aborted).toBe(false);
  controller.abort();
  controller.abort();
  expect(told).toEqual(['first, aborted: true', 'second']);
});
