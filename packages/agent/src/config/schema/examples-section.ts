import { choice, count, filledText, flag, type JsonSchema } from '../../capabilities/json-schema.ts';
import { EXPECTED_ERRORS } from '../../capabilities/example.ts';
import { section } from './section-schema.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;

const principal: JsonSchema = section('Who calls: an API key by its name, or what a token says.', {
  key_name: filledText('Name of the API key.'),
  issuer: filledText('`iss` of the token.'),
  subject: filledText('`sub` of the token.'),
  client_id: filledText('The client that the token was issued to.'),
  claims: { type: 'object', description: 'What goes on of the token or belongs to the key, by name.' },
});

const expectation: JsonSchema = section('What the answer has to be; when absent the call has to succeed.', {
  count: count('Number of rows.', 0, LARGEST),
  rows: {
    type: 'array',
    items: { type: 'object', description: 'Fields of one row.' },
    description:
      'The first rows of the answer in its order, each with the fields that count; a mapping within one is a part, too.',
  },
  max_count: count('Greatest number of rows.', 0, LARGEST),
  truncated: { type: 'boolean', description: 'Whether a cap left rows out.' },
  max_ms: count('Greatest time in milliseconds.', 1, LARGEST),
  error: choice('Code of the error that the call has to end with.', EXPECTED_ERRORS),
});

export const examplesSection: JsonSchema = {
  type: 'array',
  minItems: 1,
  description: 'Calls that `svc-agent test` makes; callers are shown their parameters.',
  items: section('A call, and what is expected of its answer.', {
    params: { type: 'object', description: 'The parameters by name, as callers send them.' },
    as: filledText('Name of the API key that calls: short for `principal: { key_name: ... }`.'),
    principal,
    expect: expectation,
    publish: flag(
      'Whether callers are shown the parameters. Those of calls that end with an error never are.',
      true,
    ),
  }),
};
