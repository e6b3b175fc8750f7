import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  executeMysql,
  runProcess,
  SVC_AGENT,
  SVC_GATEWAY,
  temporaryFolder,
  type MysqlAddress,
  type TemporaryFolder,
} from '@svc/testkit';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { offeredBy, startDev } from '../workbench.testing.ts';

const SHOP = `create table customer (id int unsigned auto_increment primary key, name varchar(80) not null comment 'As on the bill',
    email varchar(120), born date, member tinyint(1) not null default 0, unique key (email));
  create table purchase (id bigint primary key, customer_id int unsigned not null, state enum('open', 'paid', 'it''s late') not null,
    total decimal(10, 2) not null, placed datetime not null, details json, note text, stamp varbinary(16),
    key (placed), foreign key (customer_id) references customer (id));
  create table \`order\` (\`group\` int, \`key\` varchar(20), n int, primary key (\`group\`, \`key\`));
  create table loose (a int, b text);
  create table \`we\`\`ird "t'a\\ble\` (\`svc_id\` int primary key, \`a\`\`b\` int unique, \`c"d\` varchar(10), \`g\\h\` text, \`line
feed\` int, \`100%\` int, \`日本\` varchar(10), \`:colon\` int, \`q?\` int, \`@at\` int, \`-- dash\` int, \`/*!c*/\` int, n varchar(9)
    character set ucs2, e enum('a''b', 'c"d', ': y', 'null', ''), h int invisible, key (n), key (e)) comment 'x: y # "z" - {a}: ''q'' */ --';
  create table svc_odd (svc_name varchar(9) primary key, \`limit\` int, key (\`limit\`));
  insert into \`we\`\`ird "t'a\\ble\` (svc_id, \`a\`\`b\`, \`日本\`, n) values (7, 1, '語', 'é');
  create view recent as select p.id, p.total, c.name from purchase p join customer c on c.id = p.customer_id;
  insert into customer (name, email, born) values ('Ann', 'a@example.com', '1990-02-28'), ('Bob', 'b@example.com', null);
  insert into purchase values (1, 1, 'paid', 12.50, '2024-02-29 10:00:00', '{"a": 1}', '50% off_', x'00'),
    (2, 2, 'open', 3, '2024-03-01 10:00:00', '["late"]', null, null);
  insert into \`order\` values (1, 'x', 1);`;

describe.each(inject('mysql').map((address): [string, MysqlAddress] => [address.name, address]))(
  '%s',
  (_name, address) => {
    const database = `shop_${process.pid}`;
    const account = `svc_reader_${database}`;
    const url = `${address.kind}://${address.user}:${address.password}@${address.host}:${address.port}/${database}`;
    let folder: TemporaryFolder;
    beforeAll(async () => {
      await executeMysql(address, `create database ${database} character set utf8mb4`);
      await executeMysql(address, SHOP, database);
      folder = await temporaryFolder('mysql-commands');
      await copyFile(SVC_AGENT, join(folder.path, 'svc-agent'));
      await copyFile(SVC_GATEWAY, join(folder.path, 'svc-gateway'));
    });
    afterAll(async () => {
      await folder.remove();
      await executeMysql(address, `drop database ${database}; drop user if exists '${account}'@'%'`);
    });
    const run = (
      args: readonly string[],
      env: Readonly<Record<string, string>> = {},
    ): ReturnType<typeof runProcess> =>
      runProcess(process.execPath, [join(folder.path, 'svc-agent'), ...args], { cwd: folder.path, env });

    test('init makes a file and an account with which every capability passes and answers', async () => {
      const made = await run(['init', '--create-account', '--yes', '--json'], { DATABASE_URL: url });
      expect(made).toMatchObject({ code: 0, stderr: '' });
      const report: unknown = JSON.parse(made.stdout);
      expect(report).toMatchObject({ ok: true, account: { name: account, created: true } });
      expect(report).toMatchObject({ check: { faults: [], findings: [] } });
      const names: unknown = Reflect.get(Object(report), 'capabilities');
      expect(names).toEqual(
        expect.arrayContaining(['get_customer', 'list_purchase', 'get_order', 'search_purchase']),
      );
      const reader = await readFile(join(folder.path, 'capability/reader.sql'), 'utf8');
      expect(reader).toContain(`CREATE USER '${account}'@'%' ACCOUNT LOCK;`);
      const calls: readonly (readonly [name: string, params: unknown, rows: unknown])[] = [
        ['get_customer', { id: 1 }, [expect.objectContaining({ id: 1, member: false })]],
        [
          'list_purchase',
          { placed_from: '2024-03-01T00:00:00Z' },
          [expect.objectContaining({ id: 2, state: 'open', details: '["late"]' })],
        ],
        ['get_order', { group: 1, key: 'x' }, [{ group: 1, key: 'x', n: 1 }]],
        ['search_purchase', { query: '50% OFF_' }, [expect.objectContaining({ id: 1 })]],
        ['get_we_ird_t_a_ble', { t_svc_id: 7 }, [expect.objectContaining({ 'a`b': 1, 日本: '語' })]],
        ['list_we_ird_t_a_ble', { n: 'é' }, [expect.objectContaining({ svc_id: 7 })]],
        ['get_svc_odd', { t_svc_name: 'x' }, []],
        ['count_purchase_by_state', {}, expect.arrayContaining([{ state: 'paid', count: 1 }])],
      ];
      for (const [name, params, rows] of calls) {
        const answer = await run([
          'try',
          name,
          '--params',
          JSON.stringify(params),
          '--json',
          '--config',
          'capability/capability.yaml',
        ]);
        expect({ ...answer, name }).toMatchObject({ code: 0 });
        expect(JSON.parse(answer.stdout)).toMatchObject({ rows });
      }
    });

    test('an account that is there is refused, and so is a file of reader.sql that is', async () => {
      const again = await run(['init', '--create-account', '--yes', '--dir', 'again'], { DATABASE_URL: url });
      expect(again.code).toBe(2);
      expect(again.stderr).toContain(`the account ${account} already exists`);
      expect((await run(['init'], { DATABASE_URL: url })).code).toBe(2);
    });

    test('reader.sql, run by a person, makes the same account', async () => {
      await executeMysql(address, `drop user '${account}'@'%'`);
      const reader = await readFile(join(folder.path, 'capability/reader.sql'), 'utf8');
      await executeMysql(address, reader, database);
      const config = ['check', '--config', 'capability/capability.yaml'];
      expect((await run(config)).stdout).toContain('refuses the login');
      const password = await readFile(join(folder.path, 'capability/secrets/db-password'), 'utf8');
      const hint = /ALTER USER .*/.exec(reader)?.[0] ?? '';
      await executeMysql(address, hint.replace("'...'", `'${password.trim()}'`));
      expect(await run(config)).toMatchObject({ code: 0 });
    });

    test('add finds the fields of a statement, and check says what is weaker', async () => {
      const sql = 'select id, total, placed from purchase where state = :state order by id';
      await writeFile(join(folder.path, 'query.sql'), sql);
      const config = ['--config', 'capability/capability.yaml'];
      const added = await run(['add', 'purchases_in', '--sql-file', 'query.sql', ...config]);
      expect(added).toMatchObject({ code: 0 });
      const file = await readFile(join(folder.path, 'capability/capability.yaml'), 'utf8');
      expect(file).toMatch(/total: \{ type: number/);
      expect(file).toMatch(/placed: \{ type: datetime/);
      await writeFile(
        join(folder.path, 'list.sql'),
        'select id, total, placed from purchase where {filters}',
      );
      const listed = await run(['add', 'purchases', '--sql-file', 'list.sql', '--print', ...config]);
      expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('placed >= :placed_from') });
      const { stdout, stderr } = await run(['check', ...config]);
      expect(stdout + stderr).toContain('a scanner of ours');
    });

    test('the calls of the examples are made, and what gives something else is told', async () => {
      const path = join(folder.path, 'capability/examples.yaml');
      const file = await readFile(join(folder.path, 'capability/capability.yaml'), 'utf8');
      const example = (total: number): string =>
        `{ params: { id: 1 }, expect: { count: 1, rows: [{ total: ${total} }] } }`;
      const examples = `    examples: [${example(12.5)}, ${example(7)}]`;
      await writeFile(path, file.replace('  get_purchase:\n', `  get_purchase:\n${examples}\n`));
      const args = ['test', 'get_purchase', '--json', '--config', 'capability/examples.yaml'];
      const { code, stdout } = await run(args);
      expect(code).toBe(3);
      expect(JSON.parse(stdout)).toMatchObject({
        passed: 1,
        failed: 1,
        examples: [{ ok: true }, { ok: false }],
      });
    });

    test('dev serves callers over REST and MCP behind a gateway, and says what is weaker', async () => {
      const config = ['--config', 'capability/capability.yaml'];
      const bench = await startDev(folder.path, ['--port', '0', ...config]);
      onTestFinished(async () => void (await bench.process.stop()));
      await bench.process.waitForLine((line) => line.includes('a scanner of ours'));
      expect(await bench.call('get_customer', { id: 1 })).toMatchObject({ status: 200, json: { count: 1 } });
      const offered = expect.arrayContaining(['get_customer', 'list_purchase']);
      expect(await offeredBy(bench)).toEqual({ operations: offered, tools: offered });
    });

    test('what the account may not read is refused, with what to do', async () => {
      const path = join(folder.path, 'capability/denied.yaml');
      const file = await readFile(join(folder.path, 'capability/capability.yaml'), 'utf8');
      // The columns that look personal are not granted.
      const denied = `  denied: { description: E, sql: select email from customer, result: { email: { type: string } } }\n`;
      await writeFile(path, file.trimEnd().concat('\n', denied));
      const { code, stdout } = await run(['check', '--config', 'capability/denied.yaml']);
      expect(code).toBe(2);
      expect(stdout).toContain('check the names, and grant what it reads');
    });

    test('a password that is wrong, and a key of another driver, are faults that say what to do', async () => {
      const file = await readFile(join(folder.path, 'capability/capability.yaml'), 'utf8');
      // That of this driver is on already.
      expect(file).not.toContain('require_readonly_account');
      const check = async (from: string, to: string): Promise<string> => {
        await writeFile(join(folder.path, 'capability/wrong.yaml'), file.replace(from, to));
        const { code, stdout } = await run(['check', '--config', 'capability/wrong.yaml']);
        expect(code).toBe(2);
        return stdout;
      };
      expect(await check('password_file: "secrets/db-password"', 'password: wrong')).toContain(
        'check user and password',
      );
      expect(await check('  host:', '  file: shop.db\n  host:')).toContain(
        'database.file: unknown key; accepted: driver, host',
      );
    });

    test('an account that may write keeps the agent from starting, with the REVOKE', async () => {
      await executeMysql(address, `grant insert on ${database}.loose to '${account}'@'%'`);
      const { code, stdout } = await run(['check', '--config', 'capability/capability.yaml']);
      expect(code).toBe(2);
      expect(stdout).toMatch(/REVOKE INSERT ON/);
      await executeMysql(address, `revoke insert on ${database}.loose from '${account}'@'%'`);
    });

    test('the other driver does not fit the server', async () => {
      const path = join(folder.path, 'capability/capability.yaml');
      const other = address.kind === 'mysql' ? 'mariadb' : 'mysql';
      const file = await readFile(path, 'utf8');
      await writeFile(
        join(folder.path, 'capability/other.yaml'),
        file.replace(`driver: ${address.kind}`, `driver: ${other}`),
      );
      const { code, stdout } = await run(['check', '--config', 'capability/other.yaml']);
      expect(code).toBe(2);
      expect(stdout).toContain(`set driver: ${address.kind}`);
    });

    test.each(['disable', 'prefer', 'require'])(
      'without a driver check names what to do: %s',
      async (mode) => {
        const file = await readFile(join(folder.path, 'capability/capability.yaml'), 'utf8');
        const lines = file.split('\n').filter((line) => !/^  (driver|sslmode): /.test(line));
        const without = lines.map((line) => (line === 'database:' ? `database:\n  sslmode: ${mode}` : line));
        await writeFile(join(folder.path, 'capability/without.yaml'), without.join('\n'));
        const { code, stdout } = await run(['check', '--config', 'capability/without.yaml']);
        expect(code).toBe(2);
        expect(stdout).toContain('check host, port and sslmode, and that driver names what runs there');
      },
    );
  },
);
