import { expect, describe, onTestFinished, test } from 'vitest';
import type { RowDataPacket } from 'mysql2';
import { numbers } from '../../conformance/capability.testing.ts';
import { configure } from '../config/config.ts';
import { mysqlServers } from '../servers.testing.ts';
import { openSession, type MysqlSession } from './session.ts';

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  async function open(): Promise<MysqlSession> {
    const { kind, host, port, user, password } = address;
    const config = configure({ driver: kind, host, port, name: 'information_schema', user }, { password });
    const session = await openSession(config, new AbortController().signal);
    onTestFinished(() => session.destroy());
    return session;
  }

  const select = (session: MysqlSession, value: number): Promise<unknown> =>
    new Promise((resolve, reject) => {
      session.statements.use(`select '${value}' as n`, (error, statement) => {
        if (error !== null) return reject(error);
        statement.execute<RowDataPacket[]>([], (failed, rows) => (failed ? reject(failed) : resolve(rows)));
      });
    });

  async function counts(session: MysqlSession): Promise<Readonly<Record<string, number>>> {
    const rows = await session.ask("show session status like 'Com_stmt%'");
    return Object.fromEntries(rows.map((row) => [String(row['Variable_name']), Number(row['Value'])]));
  }

  test('a connection holds 256 statements, and prepares one again after it was dropped for another', async () => {
    const session = await open();
    for (const value of numbers(300)) expect(await select(session, value)).toEqual([[String(value)]]);
    expect(await select(session, 1)).toEqual([['1']]);
    expect(await select(session, 1)).toEqual([['1']]);
    expect(await counts(session)).toMatchObject({
      Com_stmt_prepare: 301,
      Com_stmt_close: 301 - 256,
      Com_stmt_execute: 302,
    });
  });

  test('a session that was reset prepares again', async () => {
    const session = await open();
    expect(await select(session, 1)).toEqual([['1']]);
    await session.reset();
    expect(await select(session, 1)).toEqual([['1']]);
  });
});
