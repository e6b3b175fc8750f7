import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Capability } from '../capabilities/model.ts';
import { resultSchema } from '../capabilities/openapi/result-schema.ts';
import { stringFormats } from '../capabilities/values/string-formats.ts';
import { bodiesOf, takerOf } from './bodies.testing.ts';
import { ANSWERS, capabilityPair, type CapabilityJson } from './capability-pairs.testing.ts';
import { compareContracts } from './compare.ts';
import { contractOfOffer } from './read/read-openapi.ts';
import { offerOf } from './contracts.fixture.ts';

const ajv = new Ajv({ strict: false, allowUnionTypes: true, formats: { 'x-one': true, 'x-two': true } });
for (const [name, check] of stringFormats) ajv.addFormat(name, check);

function answerOf({ result }: Capability): unknown {
  const row = (isFirst: boolean): object =>
    Object.fromEntries(
      result.map(({ name, type, nullable }) => [name, isFirst || !nullable ? ANSWERS[type]?.json : null]),
    );
  return { rows: [row(true), row(false)], count: 2 };
}

test(
  'with what is compatible, calls of before are taken, and answers are as before',
  { tags: ['command:diff'] },
  () => {
    const told = { breaking: 0, risky: 0, compatible: 0, none: 0 };
    const capabilityOf = (json: CapabilityJson) => offerOf({ capabilities: { c: json } });
    fc.assert(
      fc.property(capabilityPair, (pair) => {
        const [old, now] = [capabilityOf(pair.old), capabilityOf(pair.now)];
        const [before] = old.capabilities;
        const [after] = now.capabilities;
        if (before === undefined || after === undefined) throw new Error('no capability');
        const changes = compareContracts(contractOfOffer(old), contractOfOffer(now));
        const worst = changes[0]?.severity ?? 'none';
        told[worst] += 1;
        // What is risky changes what a call means, and may add fields; what is sent is taken.
        if (worst === 'breaking') return;
        const [tookBefore, takesAfter] = [takerOf(before), takerOf(after)];
        for (const body of bodiesOf(before)) {
          expect(tookBefore(body)).toBe(true);
          expect({ body, taken: takesAfter(body) }).toEqual({ body, taken: true });
        }
        if (worst === 'risky') return;
        expect({ valid: ajv.validate(resultSchema(before), answerOf(after)), errors: ajv.errors }).toEqual({
          valid: true,
          errors: null,
        });
      }),
      { numRuns: 300 },
    );
    // Else the generator proves nothing.
    expect(Math.min(told.compatible, told.risky, told.breaking)).toBeGreaterThan(25);
  },
);
