import { CAPABILITY_NAME_PATTERN, MAX_INFLIGHT_MAX, NEED_PATTERN, SERVICE_ID_PATTERN } from '@svc/protocol';
import { stringFormats } from '../../capabilities/values/string-formats.ts';
import { PARAM_TYPES, RESULT_TYPES } from '../../capabilities/model.ts';
import { GATEWAY_DEFAULTS, RUNTIME_DEFAULTS } from '../capability-file.ts';
import { DRIVER_NAMES, DEFAULT_DRIVER, driverOf } from '../../databases/drivers.ts';
import { UNNAMED } from '../../capabilities/database-names.ts';
import {
  choice,
  count,
  filledText,
  flag,
  size,
  text,
  type JsonSchema,
} from '../../capabilities/json-schema.ts';
import { examplesSection } from './examples-section.ts';
import { identitySection } from './identity-section.ts';
import { duration, named, section } from './section-schema.ts';

const LARGEST = Number.MAX_SAFE_INTEGER;
const WORKERS_MAX = 64;
const DATABASE_NAME_PATTERN = '^[a-z][a-z0-9_]{0,31}$';
const PARAM_NAME_PATTERN = '^[a-z_][a-z0-9_]{0,62}$';
const PARAM_NAME_MESSAGE =
  'this is no parameter name: use 1 to 63 lower-case letters, digits and `_`, not beginning with a digit';

const constraints: Readonly<Record<string, JsonSchema>> = {
  minimum: { type: 'number', description: 'Least value (integer, number).' },
  maximum: { type: 'number', description: 'Greatest value (integer, number).' },
  exclusiveMinimum: { type: 'number', description: 'The value must be above this (integer, number).' },
  exclusiveMaximum: { type: 'number', description: 'The value must be below this (integer, number).' },
  multipleOf: {
    type: 'number',
    exclusiveMinimum: 0,
    description: 'The value must be a multiple of this (integer, number).',
  },
  minLength: count('Least number of characters (string).', 0, LARGEST),
  maxLength: count('Greatest number of characters (string).', 0, LARGEST),
  pattern: text(
    'Regular expression, with the `u` flag, that must match somewhere in the text (string). ' +
      'Give `maxLength` too: a longer text is refused before the pattern runs.',
  ),
  format: choice('Format of the text (string).', [...stringFormats.keys()]),
  enum: {
    type: 'array',
    minItems: 1,
    uniqueItems: true,
    items: {},
    description: 'The only values allowed (all types but array and object).',
  },
};

const itemsSchema: JsonSchema = section(
  'Type and constraints of each item (array).',
  {
    type: choice(
      'Type of the items.',
      PARAM_TYPES.filter((type) => type !== 'array' && type !== 'object'),
    ),
    ...constraints,
  },
  ['type'],
);

export const paramSchema: JsonSchema = section(
  'A parameter.',
  {
    type: choice('Type of the value; nothing is converted, so "5" is not an integer.', PARAM_TYPES),
    required: flag(
      'Whether callers must supply it. Otherwise an absent one is SQL NULL, or its `default`.',
      false,
    ),
    description: text('What the parameter means, for callers.'),
    from: {
      type: 'string',
      description: 'Takes the value from who calls, whatever they send: they neither send nor see it.',
      pattern: NEED_PATTERN,
      errorMessage:
        'must be a property of who calls, such as `principal.subject`, `principal.issuer`, `principal.client_id`, `principal.key_name` or `principal.claims.org_id`',
    },
    ...constraints,
    items: itemsSchema,
    minItems: count('Least number of items (array).', 0, LARGEST),
    maxItems: count('Greatest number of items (array).', 0, LARGEST),
    default: { description: 'Value of an absent or null optional parameter.' },
  },
  ['type'],
);

const resultFieldSchema: JsonSchema = section(
  'A field of the rows.',
  {
    type: choice('Type of the field in the answer.', RESULT_TYPES),
    description: text('What the field means, for callers.'),
    format: {
      type: 'string',
      pattern: '^[a-z][a-z0-9-]*$',
      description: 'Format shown to callers, e.g. `email` or `int64` (integer, number, string).',
      errorMessage: 'must be the name of a format, such as `email` or `int64`',
    },
    nullable: flag('Whether the field can be null.', true),
  },
  ['type'],
);

const limits = {
  timeout: (standard?: string) => duration('Longest time that a query may take, at most 24h.', standard),
  maxRows: (standard?: number) => count('Greatest number of rows.', 1, 2_147_483_647, standard),
  maxBytes: (standard?: string) => size('Greatest size of the rows as sent, at most 64MB.', standard),
};

const policySchema: JsonSchema = section('Limits and permissions of this capability.', {
  timeout: limits.timeout(),
  max_rows: limits.maxRows(),
  max_bytes: limits.maxBytes(),
  on_limit: choice(
    'What happens at a cap: `truncate` stops at whole rows and says so, `error` refuses the result.',
    ['truncate', 'error'],
    'truncate',
  ),
  allow_functions: {
    type: 'array',
    uniqueItems: true,
    description: 'Volatile functions that the SQL may call all the same.',
    items: {
      type: 'string',
      pattern: '^[A-Za-z_][A-Za-z0-9_$]{0,62}(\\.[A-Za-z_][A-Za-z0-9_$]{0,62})?$',
      errorMessage: 'must be the name of a function, such as `my_schema.my_function`',
    },
  },
  allow_foreign_tables: {
    type: 'array',
    uniqueItems: true,
    description:
      'Foreign tables of PostgreSQL that the SQL may read all the same, by their names as the database spells them.',
    items: {
      type: 'string',
      pattern: '^[^.\\u0000-\\u001f\\u007f]{1,63}(\\.[^.\\u0000-\\u001f\\u007f]{1,63})?$',
      errorMessage: 'must be the name of a foreign table, such as `my_schema.my_table`',
    },
  },
});

const capabilitySchema: JsonSchema = section(
  'A named, parameterised, read-only query.',
  {
    description: text('What the capability does, for callers and models.'),
    database: filledText(
      'The one of `databases` that is asked; by default that of `defaults`, or the only one.',
    ),
    sql: filledText('One SELECT, with parameters written as `:name`.'),
    params: named('Input parameters by name.', PARAM_NAME_PATTERN, PARAM_NAME_MESSAGE, paramSchema),
    policy: policySchema,
    expose_in_openapi: flag(
      'Whether `/openapi.json` and `tools/list` show it. It can be called either way.',
      true,
    ),
    result: {
      ...named(
        'The row fields that leave, in this order; nothing else does.',
        '^(?![0-9]+$)[^\\u0000-\\u001f\\u007f]{1,63}$',
        'this is no field name: use 1 to 63 characters, not digits alone',
        resultFieldSchema,
      ),
      minProperties: 1,
    },
    examples: examplesSection,
    paging: {
      ...named(
        'How callers go on where a cap cut the rows: parameters by name, each with the field whose value in the last row it takes, as in `{ after: id }`. A cut answer then has these parameters in `next`.',
        PARAM_NAME_PATTERN,
        PARAM_NAME_MESSAGE,
        filledText('Field of `result`, of the type of the parameter.'),
      ),
      minProperties: 1,
    },
  },
  ['sql', 'result'],
);

/** The capability file with databases of these drivers, by their names: what the lint checks and editors complete. */
export function fileSchema(drivers: Readonly<Record<string, string>>): JsonSchema {
  const isNamed = !Object.hasOwn(drivers, UNNAMED);
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'capability.yaml',
    ...section(
      'The capabilities that an agent offers, and how it reaches its database and its gateway.',
      {
        service: section('The service that the agent belongs to, and what its OpenAPI description says.', {
          id: {
            type: 'string',
            pattern: SERVICE_ID_PATTERN,
            description:
              'The service of the gateway whose calls the agent takes; calls of others are refused. Absent: those of the service that its key belongs to.',
            errorMessage: 'must be a lower-case letter, then up to 47 lower-case letters, digits or `-`',
          },
          title: filledText('Title of the description.'),
          version: filledText('Version of the set of capabilities; quote a number.'),
          description: text('Text of the description.'),
        }),
        runtime: section('How much the agent does at once.', {
          max_concurrent_requests: count(
            'Calls handled at once; with several databases, of each.',
            1,
            100_000,
            RUNTIME_DEFAULTS.max_concurrent_requests,
          ),
          queue_size: count(
            'Calls that may wait, likewise; one more is refused as busy. With those handled at once 1000000 at most.',
            0,
            MAX_INFLIGHT_MAX,
            RUNTIME_DEFAULTS.queue_size,
          ),
          workers: count(
            'Processes that run the calls and share the connections, at least one each; 1 is the agent alone.',
            1,
            WORKERS_MAX,
            RUNTIME_DEFAULTS.workers,
          ),
          require_all_databases: flag(
            'Start and reload only when every database can be used; by default one that is away costs its own capabilities only, as long as another can be used.',
            RUNTIME_DEFAULTS.require_all_databases,
          ),
          reverify: duration(
            'How often every capability is checked again with the database, from 1s to 168h; what fails then is reported, and served on. Absent is never.',
          ),
        }),
        gateway: section(
          'The gateway to connect to.',
          {
            url: {
              type: ['string', 'array'],
              items: { type: 'string' },
              minItems: 1,
              maxItems: 16,
              uniqueItems: true,
              description:
                'URL of its agent endpoint, such as `wss://gateway.example.com/ws/agent`; or a list of those of several gateways, to all of which the agent connects. `{replica}` in the first label of the host stands for the number of a replica, where each has a host of its own.',
              errorMessage:
                'must be a URL such as `wss://gateway.example.com/ws/agent`, or a list of up to 16 different ones',
            },
            max_links: count(
              'Links to all replicas of all gateways together, at most.',
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
              'URL of the HTTP proxy by which the agent reaches the gateway and the key sets of issuers, such as `http://user:password@proxy.example.com:3128`; `none` for no proxy. Absent: HTTPS_PROXY, ALL_PROXY and NO_PROXY of the environment.',
            ),
            proxy_ca_file: filledText(
              'PEM file of the certificate authorities that may have signed the certificate of an `https://` proxy; relative to this file.',
            ),
          },
          ['url'],
        ),
        database: databaseSection(drivers[UNNAMED] ?? DEFAULT_DRIVER),
        databases: {
          ...named(
            'Several databases by name, instead of `database`; callers are told of none.',
            DATABASE_NAME_PATTERN,
            'this is no name of a database: use 1 to 32 lower-case letters, digits and `_`, beginning with a letter',
            databaseSection(DEFAULT_DRIVER),
          ),
          ...(isNamed ? { properties: mapValues(drivers, databaseSection) } : {}),
          minProperties: 1,
        },
        identity: identitySection,
        logging: section('The log.', {
          output: choice(
            'Where the running agent writes its log: `file` is `svc-agent.log` next to the agent, `stdout` standard output instead, without rotation.',
            ['file', 'stdout'],
            'file',
          ),
          max_size: size('Size at which a new log file is begun, at least 1KB.', '10MB'),
          max_files: count('Log files kept.', 1, 1000, 5),
        }),
        metrics: section('Metrics for Prometheus.', {
          addr: {
            type: 'string',
            description: 'Listen address of `GET /metrics`; absent is off.',
            pattern:
              '^([A-Za-z0-9.-]*|\\[[0-9A-Fa-f:.]+\\]):([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])$',
            errorMessage: 'must be `:<port>` or `<host>:<port>`, such as `127.0.0.1:9090`',
          },
        }),
        telemetry: section('Traces for OpenTelemetry.', {
          traces: choice(
            'Where spans of calls go: `otlp`, as the environment variables `OTEL_*` say; absent is off.',
            ['otlp'],
          ),
          headers_file: filledText(
            'File of HTTP headers for the collector, a `Name: value` on each line; relative to this file.',
          ),
        }),
        defaults: section('What holds for capabilities that do not say otherwise.', {
          readonly: {
            type: 'boolean',
            enum: [true],
            default: true,
            description: 'Always true.',
            errorMessage: 'must be true: the service only reads, so remove the key or write `true`',
          },
          database: filledText('The one of `databases` that is asked.'),
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
      ['gateway', isNamed ? 'databases' : 'database', 'capabilities'],
    ),
  };
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  make: (value: Value) => Result,
): Readonly<Record<string, Result>> {
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, make(value)]));
}

/** The section of any driver, for whoever does not know which: the keys of all, and those that each must have. */
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
  return section('The database and its read-only account.', { driver, ...properties }, required);
}
