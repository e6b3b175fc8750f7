import { createReleasers, findMysqlServers, startMysql, type MysqlAddress } from '@svc/testkit';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The servers that the run's global set-up has started. */
    mysql: readonly MysqlAddress[];
  }
}

/** One server of each version for the whole run, or those that the environment variable SVC_TEST_MYSQL names. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const wanted = process.env['SVC_TEST_MYSQL']?.split(',');
  const programs = findMysqlServers().filter(({ name }) => wanted?.includes(name) ?? true);
  const releasers = createReleasers();
  try {
    const servers = await Promise.all(
      programs.map(async (program) => {
        const server = await startMysql(program);
        await releasers.add(() => server.stop());
        return server.address;
      }),
    );
    project.provide('mysql', servers);
  } catch (error) {
    await releasers.closeAll();
    throw error;
  }
  return () => releasers.closeAll();
}
