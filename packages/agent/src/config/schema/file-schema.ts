import { CAPABILITY_NAME_PATTERN, MAX_INFLIGHT_MAX, SERVICE_ID_PATTERN } from '@svc/protocol';
import { UNNAMED } from '../../capabilities/database-names.ts';
import {
  choice,
  count,
  duration,
  filledText,
  flag,
  named,
  section,
  size,
  text,
  type JsonSchema,
} from '../../capabilities/json-schema.ts';
import { DRIVER_NAMES, DEFAULT_DRIVER, driverOf } from '../../databases/drivers.ts';
import { GATEWAY_DEFAULTS, RUNTIME_DEFAULTS } from '../capability-file.ts';
import { capabilitySchema, limits } from './capability-schema.ts';

const WORKERS_MAX = 64;
const DATABASE_NAME_PATTERN = '^[a-z][a-z0-9_]{0,31}$';

const texts = (description: string): JsonSchema => ({
  type: 'array',
  items: { type: 'string' },
  description,
});

/** The fields of a record. `parseIssuers` judges their values, because the gateway takes the same records. */
const issuer: JsonSchema = section('An issuer whose tokens the agent verifies.', ['name', 'issuer'], {
  name: filledText('For logs: a lower-case letter, then up to 31 lower-case letters, digits, `_` or `-`.'),
  issuer: filledText('The `iss` of its tokens, byte by byte.'),
  audiences: texts(
    '`aud` must name one of these; when absent, the `/mcp` URL of the gateway that `gateway.url` leads to, with or without a `/` at its end.',
  ),
  other_audiences: texts('Other audiences that `aud` may name; when absent, any.'),
  audience_claim: filledText(
    'The claim that names one of `audiences` in tokens without `aud`, such as `client_id`; tokens with `aud` are refused then.',
  ),
  jwks_uri: filledText('https URL of its keys; without it and `jwks_file` discovery at `issuer` finds it.'),
  jwks_file: filledText('JWKS file of its keys, looked at every 60 s; relative to this file.'),
  algorithms: texts('Accepted `alg`; when absent RS256, PS256, ES256 and EdDSA.'),
  types: texts('Accepted `typ`, `""` for none; when absent `at+jwt`, `JWT` and none.'),
  id_tokens: flag('Whether ID tokens are accepted too.', false),
  required_claims: {
    description:
      'Claims that a token must have: a mapping of names to values, or a list of `{ claim, value }`.',
  },
  max_lifetime: text('Greatest time from `iat` to `exp`, or `none`; when absent 24h.'),
  grants: {
    type: 'array',
    items: { type: 'object' },
    description:
      'What tokens may call: `{ capabilities, scope }` or `{ capabilities, claim, value }`. When absent, all that the gateway permits.',
  },
  claims: {
    type: 'object',
    description:
      'Claims that are passed on: a name for `from` and for `svc.claims`, and the path of the claim in the token.',
  },
  scopes: texts('Used by the gateway only.'),
  advertise: flag('Used by the gateway only.', true),
  log_subject: flag('Whether the log has subjects as they are; otherwise it has their hashes.', true),
});

const identitySection: JsonSchema = section(
  'How the agent learns who the caller is. When absent, it does not identify callers.',
  ['trust'],
  {
    trust: choice(
      '`token`: the agent verifies each token itself. `gateway`: the word of the gateway counts.',
      ['token', 'gateway'],
    ),
    api_keys: choice(
      'Calls by API key, for which the agent has only the word of the gateway. When absent, `refuse` under `trust: token`, else `accept`.',
      ['refuse', 'accept'],
    ),
    max_age: duration('Greatest age of a token since its `iat`, in whole seconds; when absent any.'),
    issuers: {
      type: 'array',
      minItems: 1,
      items: issuer,
      description:
        'At most 16, with the fields of GATEWAY_ISSUERS_JSON; required under `trust: token`, refused otherwise.',
    },
  },
);

/** The schema of a capability file whose databases have these drivers, by the names of the databases. */
export function fileSchema(drivers: Readonly<Record<string, string>>): JsonSchema {
  const isNamed = !Object.hasOwn(drivers, UNNAMED);
  const ownSections = Object.entries(drivers).map(
    ([name, driver]) => [name, databaseSection(driver)] as const,
  );
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'capability.yaml',
    ...section(
      'The capabilities that an agent offers, and how it reaches its database and its gateway.',
      ['gateway', isNamed ? 'databases' : 'database', 'capabilities'],
      {
        service: section(
          'The service that the agent belongs to, and what its OpenAPI description says.',
          [],
          {
            id: {
              type: 'string',
              pattern: SERVICE_ID_PATTERN,
              description:
                'The service of the gateway whose calls the agent accepts; it refuses calls of others. When absent, the service that its key belongs to.',
              errorMessage: 'must be a lower-case letter, then up to 47 lower-case letters, digits or `-`',
            },
            title: filledText('Title of the description.'),
            version: filledText('Version of the set of capabilities; quote a number.'),
            description: text('Text of the description.'),
          },
        ),
        runtime: section('How much the agent does at once.', [], {
          max_concurrent_requests: count(
            'Calls handled at once; with several databases, for each.',
            1,
            100_000,
            RUNTIME_DEFAULTS.max_concurrent_requests,
          ),
          queue_size: count(
            'Calls that may wait; with several databases, for each. One more is refused as busy. At most 1000000 together with those handled at once.',
            0,
            MAX_INFLIGHT_MAX,
            RUNTIME_DEFAULTS.queue_size,
          ),
          workers: count(
            'Processes that run the calls and share the connections, at least one each; with 1 the agent runs the calls itself.',
            1,
            WORKERS_MAX,
            RUNTIME_DEFAULTS.workers,
          ),
          require_all_databases: flag(
            'Start and reload only when every database can be used. By default a database that is away takes only its own capabilities out of service, as long as another can be used.',
            RUNTIME_DEFAULTS.require_all_databases,
          ),
          reverify: duration(
            'How often every capability is checked against the database again, from 1s to 168h. One that fails is reported but still served. When absent, never.',
          ),
        }),
        gateway: section('The gateway to connect to.', ['url'], {
          url: {
            type: ['string', 'array'],
            items: { type: 'string' },
            minItems: 1,
            maxItems: 16,
            uniqueItems: true,
            description:
              'URL of its agent endpoint, such as `wss://gateway.example.com/ws/agent`; or a list of the URLs of several gateways; the agent connects to all of them. `{replica}` in the first label of the host stands for the number of a replica if each replica has a host of its own.',
            errorMessage:
              'must be a URL such as `wss://gateway.example.com/ws/agent`, or a list of up to 16 different ones',
          },
          max_links: count(
            'Most links at once, to all replicas of all gateways together.',
            1,
            1024,
            GATEWAY_DEFAULTS.max_links,
          ),
          resolve_interval: duration(
            'How often the host of `url` is looked up for further replicas, from 1s to 1h; varied by 20 %.',
            GATEWAY_DEFAULTS.resolve_interval,
          ),
          agent_private_key: text('Ed25519 private key, as `svc-gateway create-agent-secret` prints it.'),
          agent_private_key_file: filledText('File that holds the private key; relative to this file.'),
          ca_file: filledText('PEM file of the certificate authorities to trust; relative to this file.'),
          proxy: filledText(
            'URL of the HTTP proxy through which the agent reaches the gateway and the key sets of issuers, such as `http://user:password@proxy.example.com:3128`; `none` for no proxy. When absent, HTTPS_PROXY, ALL_PROXY and NO_PROXY of the environment.',
          ),
          proxy_ca_file: filledText(
            'PEM file of the certificate authorities that may have signed the certificate of an `https://` proxy; relative to this file.',
          ),
        }),
        database: databaseSection(drivers[UNNAMED] ?? DEFAULT_DRIVER),
        databases: {
          ...named(
            'Several databases by name, instead of `database`; callers never see these names.',
            DATABASE_NAME_PATTERN,
            'this is no name of a database: use 1 to 32 lower-case letters, digits and `_`, beginning with a letter',
            databaseSection(DEFAULT_DRIVER),
          ),
          ...(isNamed ? { properties: Object.fromEntries(ownSections) } : {}),
          minProperties: 1,
        },
        identity: identitySection,
        logging: section('The log.', [], {
          output: choice(
            'Where the running agent writes its log: `file` is `svc-agent.log` next to the agent, `stdout` is standard output, without rotation.',
            ['file', 'stdout'],
            'file',
          ),
          max_size: size('Size at which a new log file is begun, at least 1KB.', '10MB'),
          max_files: count('Log files kept.', 1, 1000, 5),
        }),
        metrics: section('Metrics for Prometheus.', [], {
          addr: {
            type: 'string',
            description: 'Listen address of `GET /metrics`; when absent, off.',
            pattern:
              '^([A-Za-z0-9.-]*|\\[[0-9A-Fa-f:.]+\\]):([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$',
            errorMessage: 'must be `:<port>` or `<host>:<port>`, such as `127.0.0.1:9090`',
          },
        }),
        telemetry: section('Traces for OpenTelemetry.', [], {
          traces: choice(
            'Where spans of calls go: `otlp`, as the environment variables `OTEL_*` say; when absent, nowhere.',
            ['otlp'],
          ),
          headers_file: filledText(
            'File of HTTP headers for the collector, a `Name: value` on each line; relative to this file.',
          ),
        }),
        defaults: section('Values for capabilities that do not set their own.', [], {
          readonly: {
            type: 'boolean',
            enum: [true],
            default: true,
            description: 'Always true.',
            errorMessage: 'must be true: the service only reads, so remove the key or write `true`',
          },
          database: filledText('The one of `databases` that capabilities query.'),
          timeout: limits.timeout('30s'),
          max_rows: limits.maxRows(1000),
          max_bytes: limits.maxBytes('1MB'),
        }),
        capabilities: named(
          'The capabilities by name; the name is part of the URL and names the MCP tool.',
          CAPABILITY_NAME_PATTERN,
          'this is no capability name: use 1 to 48 lower-case letters, digits and `_`, beginning with a letter',
          capabilitySchema,
        ),
      },
    ),
  };
}

/** The section of a database whose driver is not known: it takes the keys of all drivers, and requires those of its own. */
export function anyDatabaseSection(): JsonSchema {
  const known = databaseSection(DEFAULT_DRIVER);
  const sections = DRIVER_NAMES.map((name) => [name, driverOf(name).section] as const);
  const properties: Readonly<Record<string, unknown>> = Object.assign(
    {},
    ...sections.map(([, own]) => own.properties),
    known['properties'],
  );
  const { required: standard } = driverOf(DEFAULT_DRIVER).section;
  const others = sections.filter(([name]) => name !== DEFAULT_DRIVER);
  const rules = others.map(([name, { required }]) => ({
    if: { properties: { driver: { const: name } }, required: ['driver'] },
    // oxlint-disable-next-line unicorn/no-thenable -- the keyword of JSON Schema
    then: { required },
  }));
  const isOther = { properties: { driver: { enum: others.map(([name]) => name) } }, required: ['driver'] };
  return {
    ...known,
    properties,
    required: [],
    allOf: [...rules, { if: isOther, else: { required: standard } }],
  };
}

function databaseSection(name: string): JsonSchema {
  const { properties, required } = driverOf(name).section;
  const driver = choice('Kind of database.', DRIVER_NAMES, DEFAULT_DRIVER);
  return section('The database and its read-only account.', required, { driver, ...properties });
}
