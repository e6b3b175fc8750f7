import { choice, filledText, flag, text, type JsonSchema } from '../../capabilities/json-schema.ts';
import { duration, section } from './section-schema.ts';

const texts = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
});

/** What a record may hold; `parseIssuers` judges the values, for the gateway takes the same records. */
const issuer: JsonSchema = section(
  'An issuer whose tokens the agent verifies.',
  {
    name: filledText('For logs: a lower-case letter, then up to 31 lower-case letters, digits, `_` or `-`.'),
    issuer: filledText('The `iss` of its tokens, byte by byte.'),
    audiences: texts(
      'What `aud` must name one of; when absent the `/mcp` URL of the gateway that `gateway.url` leads to, also with `/` behind.',
    ),
    other_audiences: texts('What else may stand in `aud`; when absent anything.'),
    audience_claim: filledText(
      'The claim that names one of `audiences` in tokens without `aud`, such as `client_id`; tokens with `aud` are refused then.',
    ),
    jwks_uri: filledText('https URL of its keys; without it and `jwks_file` discovery at `issuer` finds it.'),
    jwks_file: filledText('JWKS file of its keys, looked at every 60 s; relative to this file.'),
    algorithms: texts('Accepted `alg`; when absent RS256, PS256, ES256 and EdDSA.'),
    types: texts('Accepted `typ`, `""` for none; when absent `at+jwt`, `JWT` and none.'),
    id_tokens: flag('Whether ID tokens are taken, too.', false),
    required_claims: {
      description:
        'Claims that a token must have: a mapping of names to values, or a list of `{ claim, value }`.',
    },
    max_lifetime: text('Greatest time from `iat` to `exp`, or `none`; when absent 24h.'),
    grants: {
      type: 'array',
      items: { type: 'object' },
      description:
        'What tokens may call: `{ capabilities, scope }` or `{ capabilities, claim, value }`. When absent all that the gateway lets through.',
    },
    claims: {
      type: 'object',
      description:
        'What of a token goes on: a name for `from` and for `svc.claims`, and the path of a claim.',
    },
    scopes: texts('For the gateway alone.'),
    advertise: flag('For the gateway alone.', true),
    log_subject: flag('Whether subjects stand in the log as they are; otherwise hashed.', true),
  },
  ['name', 'issuer'],
);

export const identitySection: JsonSchema = section(
  'Whom the agent believes who calls. When absent it does not ask.',
  {
    trust: choice(
      '`token`: the agent verifies each token itself. `gateway`: the word of the gateway counts.',
      ['token', 'gateway'],
    ),
    api_keys: choice(
      'Calls by API key, for which only the word of the gateway stands. When absent `refuse` under `trust: token`, else `accept`.',
      ['refuse', 'accept'],
    ),
    max_age: duration('Greatest age of a token since its `iat`, in whole seconds; when absent any.'),
    issuers: {
      type: 'array',
      minItems: 1,
      items: issuer,
      description:
        'At most 16, with the fields of GATEWAY_ISSUERS_JSON; required under `trust: token`, a fault otherwise.',
    },
  },
  ['trust'],
);
