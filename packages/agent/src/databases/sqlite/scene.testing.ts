import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Capability } from '../../capabilities/model.ts';
import { openDriver, type TestedDriver } from '../conformance/tested-driver.testing.ts';
import type { DatabaseSection } from '../driver/driver.ts';
import { driverOf } from '../drivers.ts';
import { openForWriting } from './conformance.fixture.ts';
import type { SqliteDatabase } from './engine/node-sqlite.ts';

/** A file of the running test's own, and the driver that has it open. */
export interface Scene {
  readonly file: string;
  readonly driver: TestedDriver;
  /** Of a file in the folder. */
  path(name: string): string;
  write(name: string, text: string): void;
  /** As the program does that owns the file. */
  execute(sql: string): void;
  /** Closed when the test is over. */
  writer(): SqliteDatabase;
  /** Another file, beside it. */
  another(sql: string): string;
  problems(capability: Capability): Promise<readonly string[]>;
}

const BOOKS = `create table book (id integer primary key, title text not null);
  insert into book with recursive n (i) as (select 1 union all select i + 1 from n where i < 50)
    select i, 'book ' || i from n;`;

export async function openScene(): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'sqlite-test-'));
  const path = (name: string): string => join(folder, name);
  const file = path('library.db');
  executeOn(file, `${BOOKS} create virtual table words using fts5 (word)`);
  const driver = driverOf('sqlite');
  const reader = { section: { driver: 'sqlite', file } as DatabaseSection, texts: {} };
  const tested = await openDriver(driver, (...of) => driver.connect(...of), { reader }, 2);
  onTestFinished(async () => {
    await tested.close();
    rmSync(folder, { recursive: true });
  });
  return {
    file,
    driver: tested,
    path,
    write: (name, text) => writeFileSync(path(name), text),
    execute: (sql) => executeOn(file, sql),
    writer() {
      const database = openForWriting(file);
      onTestFinished(() => database.close());
      return database;
    },
    another(sql) {
      executeOn(path('another.db'), sql);
      return path('another.db');
    },
    async problems(capability) {
      const { faults } = await tested.verifier.verify([capability]);
      return faults.map(({ message }) => message);
    },
  };
}

function executeOn(file: string, sql: string): void {
  const database = openForWriting(file);
  database.exec(sql);
  database.close();
}
