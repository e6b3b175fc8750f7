import { describe } from 'vitest';
import { describeDriver } from '../conformance/describe-driver.testing.ts';
import { dialectOf } from './conformance.fixture.ts';
import { mysqlServers } from './servers.testing.ts';

describe.each(mysqlServers().map((address) => [address.name, address] as const))('%s', (_name, address) => {
  describeDriver(address.kind, dialectOf(address));
});
