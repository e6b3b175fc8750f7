import fc from 'fast-check';
import { atOnce } from '@svc/edge';
import { parseIssuers } from '@svc/identity';
import type { Description } from '@svc/protocol';
import { expect, test } from 'vitest';
import { parseDescription } from '../agents/description.ts';
import { toolsOf } from '../api/mcp/tools/tool.ts';
import { renderDocument } from '../api/openapi/document.ts';
import { createCatalog } from './catalog.ts';
import { describedFields } from './visible-operations.ts';
import { offering } from './offer.testing.ts';

const PREFIX = '/api/v1/capabilities/';
/** Words that those who read a description look for, and names that every object has. */
const WORDS =
  'post requestBody responses 200 content application/json schema properties rows items type enum format title schemas Unavailable error code securitySchemes toJSON constructor hasOwnProperty length then 0'.split(
    ' ',
  );
const word = fc.constantFrom(...WORDS);
const { any } = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 6 },
    fc.constantFrom(null, 'null', '', 0, true),
    fc.dictionary(word, tie('any'), { maxKeys: 4, noNullPrototype: true }),
    fc.array(tie('any'), { maxLength: 3 }),
  ),
}));
const names = ['get', 'list', 'constructor', 'to_string'];
const described = fc.record({
  openapi: fc.record(
    {
      openapi: fc.string(),
      info: fc.record({ title: fc.string(), version: fc.string() }),
      paths: fc.dictionary(
        fc.constantFrom(...names, '').map((name) => PREFIX + name),
        any,
      ),
      components: any,
      security: any,
      servers: any,
      toJSON: any,
    },
    { requiredKeys: ['openapi', 'info', 'paths'] },
  ),
  manifest: fc.array(
    fc.record({ name: fc.constantFrom(...names), exposed: fc.boolean(), timeout_ms: fc.constant(1) }),
    { maxLength: 4 },
  ),
});

test('whatever agents describe, it is united, listed and documented without a failure', () => {
  const issuers = parseIssuers([{ name: 'idp', issuer: 'https://idp.example' }], {
    resource: 'https://gateway.example/mcp',
  });
  if (!issuers.ok) throw new Error(JSON.stringify(issuers.problems));
  fc.assert(
    fc.property(fc.array(described, { minLength: 1, maxLength: 3 }), (all) => {
      const catalog = createCatalog(() => {});
      const read = (description: Description): void => {
        atOnce(toolsOf(description, true));
        const options = { publicUrl: undefined, issuers: issuers.issuers, keysMayWait: true };
        const { bytes } = atOnce(renderDocument(description, () => true, options));
        expect(JSON.parse(bytes.toString())).toHaveProperty('paths');
        for (const name of names) describedFields(description, name);
      };
      let heard = 0;
      catalog.onDescription((description) => {
        heard++;
        read(description);
      });
      for (const [at, one] of all.entries()) {
        const parsed = parseDescription(Buffer.from(JSON.stringify(one)));
        if (!(parsed instanceof Promise)) catalog.add(offering(parsed, `key ${at}`));
      }
      expect(heard).toBeGreaterThan(0);
    }),
  );
});
