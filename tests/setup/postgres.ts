import { startPostgres } from '../../packages/testkit/src/index.ts';
import type { TestProject } from 'vitest/node';

/** One PostgreSQL for the whole run; every test file gets databases of its own on it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const postgres = await startPostgres();
  const { host, port, user, password } = postgres;
  project.provide('postgres', { host, port, user, password });
  return () => postgres.stop();
}
