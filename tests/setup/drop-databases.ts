import { afterAll } from 'vitest';
import { dropTestDatabases } from '../../packages/testkit/src/index.ts';

afterAll(dropTestDatabases);
