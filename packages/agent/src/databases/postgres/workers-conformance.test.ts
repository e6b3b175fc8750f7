import type { OwnCode } from '@svc/edge';
import { beforeAll, describe } from 'vitest';
import { openWorkerDatabase } from '../../workers/worker-database.ts';
import { workerCode } from '../../workers/worker-code.testing.ts';
import { describeDriver } from '../conformance/describe-driver.testing.ts';
import { dialectOf } from './conformance.fixture.ts';

describe('through two workers', () => {
  let code: OwnCode;
  beforeAll(async () => {
    code = await workerCode();
  });
  describeDriver('postgres', dialectOf(), (config, onChange) =>
    openWorkerDatabase({
      code,
      // A worker without a connection could run nothing.
      workers: Math.min(2, config.maxConnections),
      config,
      onChange,
      onWorkerEnded: ({ worker, detail }) => {
        throw new Error(`worker ${worker} has ended: ${detail}`);
      },
    }),
  );
});
