import type {
  Agents,
  AuthoredCapability,
  AuthorFile,
  Calls,
  Keys,
  Overview,
  RecordedCall,
} from '../../../packages/console/src/data.ts';

export const NOW = '2026-03-02T12:00:00.000Z';

const STEPS = 180;
const wave = (at: number, about: number, of: number): number =>
  Math.round(about * 5 * (1 + 0.3 * Math.sin(at / of) + 0.1 * Math.sin(at * 2.3)));

interface Described {
  readonly name: string;
  readonly perSecond: number;
  readonly p95: number;
  readonly error?: string;
}

const BUSIEST: readonly Described[] = [
  { name: 'get_film', perSecond: 210, p95: 9 },
  { name: 'search_films', perSecond: 64, p95: 41 },
  { name: 'list_rental', perSecond: 31, p95: 88, error: 'AGENT_QUERY_TIMEOUT' },
  { name: 'count_film_by_rating', perSecond: 6.2, p95: 14 },
  { name: 'get_customer', perSecond: 0.8, p95: 7, error: 'AGENT_INVALID_PARAMS' },
];

function seriesOf({ perSecond, p95, error }: Described): Overview['series'] {
  const steps = Array.from({ length: STEPS }, (_, at) => at);
  return {
    calls: steps.map((at) => wave(at, perSecond, 14)),
    errors: steps.map((at) => (error !== undefined && at % 9 === 0 ? 2 : 0)),
    p95_ms: steps.map((at) => wave(at, p95 / 5, 11)),
  };
}

export function overview(): Overview {
  return {
    replica: 'gateway-0',
    version: '0.2.0',
    uptime_s: 86_400,
    now: NOW,
    step_s: 5,
    agents: 2,
    rate_per_s: 312,
    p95_ms: 41,
    error_ratio: 0.002,
    warnings: ['no agent offers archive_films, which a key may call'],
    series: seriesOf({ name: '', perSecond: 312, p95: 41, error: 'any' }),
    capabilities: BUSIEST.map((capability) => ({
      name: capability.name,
      calls_per_s: capability.perSecond,
      p95_ms: capability.p95,
      error_ratio: capability.error === undefined ? 0 : 0.01,
      last_error_code: capability.error,
      series: seriesOf(capability),
    })),
  };
}

export const CALLS: Calls = {
  calls: Array.from({ length: 16 }, (_, at): RecordedCall => {
    const { name, p95, error } = BUSIEST[at % BUSIEST.length] ?? { name: '', p95: 0 };
    const isFault = error !== undefined && at > 6;
    return {
      id: 1000 - at,
      time: new Date(Date.parse(NOW) - at * 310).toISOString(),
      request_id: `6f1c${(at * 40_503).toString(16).padStart(6, '0')}`,
      api_key_name: at % 3 === 0 ? 'reports' : 'assistant',
      capability: name,
      http_status: isFault ? (error === 'AGENT_QUERY_TIMEOUT' ? 504 : 400) : 200,
      method: 'POST',
      route: '/api/v1/capabilities/{name}',
      source: `10.0.0.${(at % 4) + 3}`,
      duration_ms: p95 * (0.4 + (at % 5) / 10),
      error_code: isFault ? error : '',
    };
  }),
  next_before: 985,
  kept_max: 1000,
  dropped: 0,
};

export const KEYS: Keys = {
  keys: [
    {
      name: 'assistant',
      permissions: [],
      unknown_permissions: [],
      wildcard: true,
      last_used: NOW,
      calls: 41_207,
    },
    {
      name: 'reports',
      key_id: 'k-7f3a',
      permissions: ['count_film_by_rating', 'list_rental', 'archive_films'],
      unknown_permissions: ['archive_films'],
      wildcard: false,
      last_used: '2026-03-02T11:59:58.000Z',
      calls: 9120,
      expires_at: '2026-12-31T00:00:00.000Z',
    },
    {
      name: 'kiosk',
      permissions: ['get_film', 'search_films'],
      unknown_permissions: [],
      wildcard: false,
      calls: 0,
    },
  ],
  capabilities: BUSIEST.map(({ name }) => ({ name })),
};

export const AGENTS: Agents = {
  agents: ['b7e0a1', 'c41f92'].map((id, at) => ({
    instance_id: id,
    key_id: '3f9c0d11',
    source: `10.0.1.${at + 5}`,
    since: '2026-03-01T12:00:00.000Z',
    version: '1.4.0',
    links: 1,
    capabilities: BUSIEST.length,
    in_flight: at,
  })),
  offers: [],
};

const post = (operationId: string, description: string, schema: object): object => ({
  post: { operationId, description, requestBody: { content: { 'application/json': { schema } } } },
});

export const OPENAPI: object = {
  paths: {
    '/api/v1/capabilities/search_films': post('search_films', 'Films whose title has the text, by title.', {
      properties: {
        text: { type: 'string', description: 'part of the title' },
        rating: { type: ['string', 'null'], enum: ['G', 'PG', 'R', null], description: 'left out: any' },
        limit: { type: 'integer', default: 20, description: 'films at most' },
      },
      required: ['text'],
      examples: [{ text: 'ACADEMY' }],
    }),
  },
};

export const ROWS: object = {
  rows: [
    { film_id: 1, title: 'ACADEMY DINOSAUR', rating: 'PG', language: 'English' },
    { film_id: 17, title: 'ALONE ACADEMY', rating: 'R', language: null },
    { film_id: 963, title: 'WEST ACADEMY', rating: 'G', language: 'English' },
  ],
  count: 3,
};

export const AUTHOR_FILE: AuthorFile = {
  file: 'capability.yaml',
  checked_at: NOW,
  accepted: false,
  url: 'http://127.0.0.1:8080',
  faults: [
    {
      path: 'capabilities.get_film.sql',
      message: 'is refused by the database (a column does not exist)',
      line: 13,
      column: 5,
      detail: 'column "tittle" does not exist; Perhaps you meant to reference the column "film.title".',
      excerpt: '13 |     sql: SELECT film_id, tittle FROM film WHERE film_id = :film_id\n         ^',
    },
  ],
  fault_count: 1,
  lint: [],
  lint_count: 0,
  capabilities: [{ name: 'get_film', line: 11 }],
};

export const AUTHORED: AuthoredCapability = {
  name: 'get_film',
  line: 11,
  description: 'One film by its number',
  sql: 'SELECT film_id, title FROM film WHERE film_id = :film_id',
  sql_line: 13,
  params: [{ name: 'film_id', required: true, description: 'Its number', schema: { type: 'integer' } }],
  result: [
    { name: 'film_id', type: 'integer', nullable: false },
    { name: 'title', type: 'string', nullable: false },
  ],
  limits: { timeout_ms: 5000, max_rows: 1, max_bytes: 65_536, on_limit: 'truncate' },
  plan: [
    'Index Scan using film_pkey on film  (cost=0.28..8.29 rows=1 width=19)',
    '  Index Cond: (film_id = $1)',
  ],
  examples: [],
};
