import { createRandom, executeMysql, pick, type MysqlAddress } from '@svc/testkit';
import { createConnection, type Connection } from 'mysql2/promise';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scanSql, type SqlToken } from '../../sql/scanner.ts';
import { oneSelect } from '../../sql/one-select.ts';
import { mysqlServers } from '../servers.testing.ts';
import { lexicon } from './lexicon.ts';
import { vocabulary } from '../dialect/vocabulary.ts';

const ROUNDS = 5000;

/** What ends, begins or hides texts and comments, and what the rest of a statement is made of. */
const PIECES = [
  ...`' " \` \\ '' "" \`\` \\' \\" \\\\ # -- /* */ /*! /*M! /*+ /**/ --1 - * / ; ( ) . , : @ {`.split(' '),
  '-- ',
  ' ',
  ...Array.from('\n\r\t\u00a0\u3000\u2028é😀\v\f\0'),
  ..."a 1 1a 1e5 1e5a .5 .5a 1. 0x41 0x4g x'41' x'\\'' n'a' _latin1'é' _gbk'\\'' b'01'".split(' '),
  '; delete from canary',
  'union select 2',
  ' as b',
  'into @a',
  'for update',
];

const seed = Number(process.env['SVC_TEST_SEED'] ?? Date.now() % 2 ** 32);
const random = createRandom(seed);
const below = (end: number): number => Math.floor(random() * end);

function text(pieces: number): string {
  return Array.from({ length: below(pieces) }, () => pick(random, PIECES)).join('');
}

/** Mostly what is valid, so that servers come to run it. */
function expression(): string {
  const inner = text(4);
  const whole = [
    () => `'${inner.replaceAll("'", "''")}'`,
    () => `'${inner}'`,
    () => `"${inner}"`,
    () => `1 /*${inner}*/`,
    () => `1 -- ${inner}\n`,
    () => `1 #${inner}\n`,
    () => `1--${pick(random, ['1', ' 1\n', '\n1', '\t1\n', '\r1\n', '(1)'])}`,
    () => `1 as \`${inner}\``,
    () => inner,
  ];
  return pick(random, whole)();
}

function statement(): string {
  const parts = Array.from({ length: 1 + below(4) }, expression);
  return `select ${parts.join(pick(random, [',', ' , ', '\n,', '-', ' ']))}${text(2)}`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  b: '\b',
  0: '\0',
  Z: '\u001a',
};

/** What a text stands for, by the manual; written for this test alone. */
function valueOf(token: string): string {
  const quote = token.charAt(0);
  return token
    .slice(1, -1)
    .replaceAll(new RegExp(`\\\\([^])|${quote}${quote}`, 'gu'), (_all, escaped: string | undefined) => {
      if (escaped === undefined) return quote;
      return ESCAPES[escaped] ?? (/[%_]/.test(escaped) ? `\\${escaped}` : escaped);
    });
}

/** The same statement as the scanner understands it: without comments, and each token where nothing can join it. */
function rewritten(tokens: readonly SqlToken[]): string {
  return tokens
    .filter(({ kind }) => kind !== 'comment')
    .map(({ kind, text, start, end }, index, all) => {
      const [before, next] = [all[index - 1], all[index + 1]];
      if (kind === 'name') return `\`${text.replaceAll('`', '``')}\` `;
      // With a word directly before it, as in `_latin1'a'` and x'41', it stays as it is.
      if (kind === 'text' && !(before?.kind === 'word' && before.end === start)) {
        return `'${valueOf(text).replaceAll('\\', '\\\\').replaceAll("'", "''").replaceAll('\0', '\\0')}' `;
      }
      return kind === 'word' && next?.kind === 'text' && next.start === end ? text : `${text} `;
    })
    .join('');
}

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  let connection: Connection;
  const database = `scanner_${process.pid}`;
  beforeAll(async () => {
    await executeMysql(
      address,
      `create database ${database}; create table ${database}.canary (a int); insert into ${database}.canary values (1)`,
    );
    connection = await openRaw(address, database);
  });
  afterAll(async () => {
    await connection.end();
    await executeMysql(address, `drop database ${database}`);
  });

  async function answer(sql: string): Promise<unknown> {
    try {
      const [rows, fields] = await connection.query({ sql, rowsAsArray: true });
      // With several statements there is a list of fields for each.
      return { rows, statements: Array.isArray(fields[0]) || fields[0] === undefined ? 'several' : 'one' };
    } catch (error) {
      return Object(error).code;
    }
  }

  test(`texts and comments end where the scanner says, with seed ${seed}`, async () => {
    let compared = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const sql = statement();
      const scanned = scanSql(sql, lexicon);
      if (!scanned.ok || scanned.tokens.some(({ kind }) => kind === 'parameter')) continue;
      const judged = oneSelect(scanned.tokens, vocabulary);
      if (!judged.ok) continue;
      // Calls leave out what stands behind the last token, too.
      const { body } = judged.select;
      const [sent, other] = [sql.slice(0, body.at(-1)?.end), rewritten(body)];
      const left = await answer(sent);
      expect({ sent, other, answer: left }).toEqual({ sent, other, answer: await answer(other) });
      if (typeof left === 'object') {
        expect({ sent, answer: left }).toMatchObject({ answer: { statements: 'one' } });
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(ROUNDS / 20);
    expect(await executeMysql(address, 'select count(*) as n from canary', database)).toEqual([{ n: 1 }]);
  });

  test('the words are all those that the server reserves', async () => {
    const rows = await executeMysql(address, 'select word as w from information_schema.keywords');
    const unknown: string[] = [];
    for (const { w } of rows) {
      const word = String(w).toUpperCase();
      if (!/^\w+$/.test(word) || vocabulary.allowed.has(word) || vocabulary.reserved.has(word)) continue;
      const outcome = await answer(`select ${word} from (select 1 as \`${word}\`) t`);
      if (outcome === 'ER_PARSE_ERROR') unknown.push(word);
    }
    expect(unknown).toEqual([]);
  });
});

/** In the modes of our sessions, but with as many statements at once as are sent. */
async function openRaw(address: MysqlAddress, database: string): Promise<Connection> {
  const { host, port, user, password } = address;
  const connection = await createConnection({
    host,
    port,
    user,
    password,
    database,
    multipleStatements: true,
    charset: 'utf8mb4_general_ci',
  });
  await connection.query("set session sql_mode = 'STRICT_TRANS_TABLES'");
  return connection;
}
