import { CLOSE } from '@svc/protocol';
import { expect, test } from 'vitest';
import { createDescriptionBudget, type Described, type HeldOffer } from './description-budget.ts';

const MIB = 1024 * 1024;
const described = (keyId: string, digest: string, bytes = 8 * MIB): Described => ({ keyId, digest, bytes });
const refusal = (reason: RegExp): object =>
  expect.objectContaining({ code: CLOSE.bad_description, message: expect.stringMatching(reason) });

test('one description may have 8 MiB', () => {
  const { admit } = createDescriptionBudget(() => []);
  admit(described('key', 'a'));
  expect(() => admit(described('key', 'b', 8 * MIB + 1))).toThrow(refusal(/8 MiB/));
});

test('those of a key may have 64 MiB together, equal ones once, until their links are over', () => {
  const { admit } = createDescriptionBudget(() => []);
  const [leave] = Array.from({ length: 8 }, (_, at) => admit(described('key', `file-${at}`)));
  admit(described('key', 'file-0'));
  expect(() => admit(described('key', 'file-8', 1))).toThrow(refusal(/64 MiB/));
  admit(described('other', 'file-8', 1));
  leave?.();
  expect(() => admit(described('key', 'file-8', 1))).toThrow(refusal(/64 MiB/));
});

test('what agents of a key that are away have described makes room', () => {
  const held = (isConnected: boolean): HeldOffer[] =>
    Array.from({ length: 8 }, (_, at) => ({ offer: described('key', `file-${at}`), isConnected }));
  createDescriptionBudget(() => held(false)).admit(described('key', 'new'));
  const { admit } = createDescriptionBudget(() => held(true));
  expect(() => admit(described('key', 'new'))).toThrow(refusal(/64 MiB/));
});

test('all may have 256 MiB together', () => {
  const { admit } = createDescriptionBudget(() => []);
  for (let at = 0; at < 32; at++) admit(described(`key-${at}`, `file-${at}`));
  expect(() => admit(described('key', 'new', 1))).toThrow(refusal(/256 MiB/));
});
