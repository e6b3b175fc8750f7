import { CALL_ERRORS } from '@svc/protocol';
import { expect, test } from 'vitest';
import { responseComponents } from './error-responses.ts';

test.each([true, false])(
  'every code with a clause is in the document (asks who calls: %s)',
  (asksWhoCalls) => {
    const document = JSON.stringify(responseComponents(asksWhoCalls));
    for (const [code, { clause, clauseWithIdentity }] of Object.entries(CALL_ERRORS)) {
      const isDescribed = clause !== undefined || (asksWhoCalls && clauseWithIdentity !== undefined);
      // In the description, the enum and the examples.
      expect([code, document.split(code).length - 1]).toEqual([code, isDescribed ? 4 : 0]);
    }
  },
);

test('the clauses of a status become one sentence', () => {
  const descriptions = JSON.stringify(responseComponents(true));
  expect(descriptions).toContain('"The API key is missing or wrong (GATEWAY_UNAUTHORIZED)."');
  expect(descriptions).toContain(
    '"No agent is connected (GATEWAY_AGENT_OFFLINE), it is busy (AGENT_BUSY), or its database is not available (AGENT_DATABASE_UNAVAILABLE)."',
  );
  expect(descriptions).toContain(
    '"The query failed (AGENT_QUERY_FAILED) or its result is too large (AGENT_RESULT_TOO_LARGE)."',
  );
});
