import { expect, test } from 'vitest';
import type { OwnReason } from '../../databases/driver/driver.ts';
import type { IdentitySummary } from '../../start-up/report.ts';
import type { WordsPlace } from '../command-log.ts';
import { jsonReport, textReport, transactionsOf, type CheckReport } from './check-report.ts';

const UNREADABLE = { path: '', message: 'cannot be read' };
const FAULTS = [
  { path: 'database', message: 'nothing listens there', detail: 'connect ECONNREFUSED' },
  { path: 'database.port', message: 'must be >= 1', position: { line: 3, column: 7 } },
];
const IDENTITY = { accepts_keys: false, issuers: [], capabilities: 0 };
const FINDINGS = [{ problem: 'may write', remedy: 'REVOKE INSERT' }];

const TRANSACTIONS = [
  { capability: 'a', form: 'shared' },
  { capability: 'b', form: 'own', reason: 'function' },
] as const;

const CASES: readonly (readonly [title: string, offline: boolean, say: (report: CheckReport) => void])[] = [
  [
    'a sound file',
    false,
    (report) => {
      report.wellFormed({ capabilities: 1 });
      report.warned([]);
      report.verified([]);
    },
  ],
  [
    'calls that share transactions, and calls that do not',
    false,
    (report) => {
      report.wellFormed({ capabilities: 2 });
      report.warned([]);
      report.verified([], [], TRANSACTIONS);
    },
  ],
  [
    'a sound file offline',
    true,
    (report) => {
      report.wellFormed({ capabilities: 2 });
      report.warned([]);
    },
  ],
  [
    'an account that may write',
    false,
    (report) => {
      report.wellFormed({ capabilities: 1 });
      report.warned([]);
      report.verified(FINDINGS);
    },
  ],
  [
    'an account that must only read',
    false,
    (report) => {
      report.wellFormed({ capabilities: 1 });
      report.warned([]);
      report.verified(FINDINGS);
      report.refused(FAULTS);
    },
  ],
  [
    'a database that is away',
    false,
    (report) => {
      report.wellFormed({ capabilities: 1 });
      report.refused(FAULTS.slice(0, 1));
    },
  ],
  [
    'wrong SQL offline',
    true,
    (report) => {
      report.wellFormed({ capabilities: 1 });
      report.refused(FAULTS.slice(1));
    },
  ],
  [
    'a file that verifies tokens',
    true,
    (report) => {
      report.wellFormed({
        capabilities: 2,
        identity: { ...IDENTITY, trust: 'token', issuers: ['a', 'b'], max_age_s: 60 },
      });
      report.warned([]);
    },
  ],
  [
    'a file that verifies tokens and takes keys',
    true,
    (report) => {
      report.wellFormed({
        capabilities: 2,
        identity: { ...IDENTITY, trust: 'token', issuers: ['a'], accepts_keys: true },
      });
      report.warned([]);
    },
  ],
  [
    'a file that believes the gateway',
    true,
    (report) => {
      report.wellFormed({
        capabilities: 2,
        identity: { ...IDENTITY, trust: 'gateway', accepts_keys: true, capabilities: 1 },
      });
      report.warned([]);
    },
  ],
  [
    'a file with workers',
    true,
    (report) => {
      report.wellFormed({ capabilities: 2, workers: 3 });
      report.warned([]);
    },
  ],
  ['a malformed file', false, (report) => report.refused(FAULTS)],
  [
    'warnings',
    true,
    (report) => {
      report.wellFormed({ capabilities: 1 });
      report.warned(FAULTS);
    },
  ],
  ['a file that cannot be read', false, (report) => report.refused([UNREADABLE])],
];

interface JsonReport {
  readonly capabilities?: number;
  readonly identity?: IdentitySummary;
  readonly workers?: number;
  readonly faults: readonly JsonFault[];
  readonly warnings: readonly JsonFault[];
  readonly log?: string;
  readonly details?: string;
  readonly account: readonly { readonly problem: string; readonly remedy: string }[];
  readonly transactions?: typeof TRANSACTIONS;
}

interface JsonFault {
  readonly path: string;
  readonly message: string;
  readonly line?: number;
  readonly column?: number;
}

function written(
  create: typeof textReport,
  [, offline, say]: (typeof CASES)[number],
  words: WordsPlace,
): string {
  let output = '';
  const report = create('a.yaml', offline, { write: (text: string) => (output += text) }, words);
  say(report);
  report.end();
  return output;
}

function meaningOf(identity: IdentitySummary): string {
  const { trust, issuers, accepts_keys: acceptsKeys, max_age_s: maxAge, capabilities } = identity;
  const keys = acceptsKeys ? 'API keys as the gateway tells' : 'no API keys';
  const whose =
    trust === 'token'
      ? `tokens of ${issuers.join(', ')}, verified here; ${keys}`
      : 'the gateway tells who calls, for tokens and API keys';
  const age = maxAge === undefined ? '' : `; tokens are at most ${maxAge} s old`;
  return `${whose}${age}; ${capabilities} ${capabilities === 1 ? 'capability takes' : 'capabilities take'} something from the caller`;
}

function lineOf({ path, message, line, column }: JsonFault, kind = ''): string {
  const place = line === undefined ? 'a.yaml' : `a.yaml:${line}:${column}`;
  return `${place}  ${kind}${path === '' ? '' : `${path}: `}${message}`;
}

const PIPED = { file: undefined, isShown: false };
const LOGGED = { file: '/a folder/check.log', isShown: false };

test.each(CASES.flatMap((each) => [[...each, PIPED] as const, [...each, LOGGED] as const]))(
  'JSON tells programs of %s what the lines tell people',
  (title, offline, say, words) => {
    const lines = written(textReport, [title, offline, say], words).trimEnd().split('\n');
    const json = written(jsonReport, [title, offline, say], words);
    expect(json.indexOf('\n')).toBe(json.length - 1);
    const report: JsonReport = JSON.parse(json);
    const {
      capabilities: count,
      identity,
      workers,
      faults,
      warnings,
      log,
      details = log,
      account,
      transactions,
    } = report;
    expect(report).toMatchObject({ ok: faults.length === 0, file: 'a.yaml', offline });
    const told = [
      ...(count === undefined
        ? []
        : [`a.yaml: well formed, ${count} ${count === 1 ? 'capability' : 'capabilities'}`]),
      ...(identity === undefined ? [] : [`identity: ${meaningOf(identity)}`]),
      ...(workers === undefined
        ? []
        : [`runtime: ${workers} workers run the calls and share the database connections`]),
      ...faults.map((fault) => lineOf(fault)),
      ...warnings.map((warning) => lineOf(warning, 'warning: ')),
      ...account.map(({ problem, remedy }) => `account: ${problem}; to fix it: ${remedy}`),
      ...(details === undefined ? [] : [`Details: ${details}`]),
      ...(transactions === undefined ? [] : ['transactions: 1 may be shared, 1 is its own: b (function)']),
    ];
    if (transactions !== undefined) expect(transactions).toEqual(TRANSACTIONS);
    const others = /^(?:offline: |database: answers)/;
    expect(told.toSorted()).toEqual(lines.filter((line) => !others.test(line)).toSorted());
  },
);

test.each([
  ['a terminal', { file: undefined, isShown: true }, ['    connect ECONNREFUSED'], {}],
  [
    'a terminal and a log',
    { file: 'b.log', isShown: true },
    ['    connect ECONNREFUSED', 'Details: b.log'],
    { log: 'b.log' },
  ],
  ['a log', { file: 'b.log', isShown: false }, ['Details: b.log'], { log: 'b.log' }],
  [
    'neither',
    { file: undefined, isShown: false },
    [expect.stringMatching(/^Details: .*--log FILE.* terminal/)],
    { details: expect.stringMatching(/--log FILE.* terminal/) },
  ],
])('the words of the database with %s', (_title, words, below, members) => {
  const refused = ['', false, (report: CheckReport) => report.refused(FAULTS.slice(0, 1))] as const;
  expect(written(textReport, refused, words).trimEnd().split('\n').slice(1)).toEqual(below);
  const { log, details }: JsonReport = JSON.parse(written(jsonReport, refused, words));
  expect({ log, details }).toEqual({ log: undefined, details: undefined, ...members });
  // Nothing is kept back of what the database says nothing of.
  const shown = ['', false, (report: CheckReport) => report.refused(FAULTS.slice(1))] as const;
  expect(written(textReport, shown, words)).not.toContain('Details');
});

const shared = { capability: 's', form: 'shared' } as const;
const own = (capability: string, reason: OwnReason) => ({ capability, form: 'own', reason }) as const;
const manyOwn = (count: number): readonly ReturnType<typeof own>[] =>
  Array.from({ length: count }, (_, index) => own(`c${index}`, 'row_security'));
const TEN = manyOwn(10)
  .map(({ capability }) => `${capability} (row_security)`)
  .join(', ');

test.each([
  ['3 may be shared', [shared, shared, shared]],
  [
    '1 may be shared, 2 are their own: a (row_security), b (off)',
    [own('a', 'row_security'), shared, own('b', 'off')],
  ],
  ['0 may be shared, 1 is its own: a (pooler)', [own('a', 'pooler')]],
  [`1 may be shared, 10 are their own: ${TEN}`, [shared, ...manyOwn(10)]],
  [`1 may be shared, 14 are their own: ${TEN} and 4 more`, [shared, ...manyOwn(14)]],
  ['all 2 are their own, as the file says by `transactions: own`', [own('a', 'off'), own('b', 'off')]],
])('tells people of transactions: %s', (expected, transactions) => {
  const say = (report: CheckReport): void => report.verified([], [], transactions);
  expect(written(textReport, ['', false, say], PIPED)).toContain(`\ntransactions: ${expected}\n`);
});

test('transactions are in the order of the file, without capabilities of engines that share none', () => {
  const config = { capabilities: ['b', 'lite', 'a'].map((name) => ({ name })) };
  const prepared = [
    { capability: 'a', transaction: { form: 'own', reason: 'index' } },
    { capability: 'lite' },
    { capability: 'b', transaction: { form: 'shared' } },
  ] as const;
  expect(transactionsOf({ config, prepared })).toEqual([
    { capability: 'b', form: 'shared' },
    { capability: 'a', form: 'own', reason: 'index' },
  ]);
  expect(transactionsOf({ config, prepared: prepared.slice(1, 2) })).toBeUndefined();
});
