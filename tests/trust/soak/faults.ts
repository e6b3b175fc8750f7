import { databaseUrl, startPostgres, type FaultProxy, type Postgres, type Service } from '@svc/testkit';
import pg from 'pg';

/** What can be broken. */
export interface Scene {
  readonly service: Service;
  /** Between agents and database. */
  readonly databaseNetwork: FaultProxy;
  /** Between agents and gateway. */
  readonly linkNetwork: FaultProxy;
  readonly folder: string;
  postgres: Postgres;
}

export interface Fault {
  readonly name: string;
  /** Breaks something, and repairs it if it does not recover by itself. */
  readonly run: (scene: Scene) => Promise<void>;
}

export const DATABASE = 'soak';
export const DATABASE_SETTINGS = { fsync: 'off' };

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Those that leave the gateway process and the first agent alone, so that their memory can be watched. */
export const FAULTS: readonly Fault[] = [
  {
    name: 'database sessions terminated',
    async run({ postgres }) {
      const client = new pg.Client({ connectionString: databaseUrl(postgres, DATABASE) });
      await client.connect();
      try {
        await client.query(
          "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'svc-agent'",
        );
      } finally {
        await client.end();
      }
    },
  },
  { name: 'database connections cut', run: async ({ databaseNetwork }) => databaseNetwork.cut() },
  {
    name: 'database connections silent for ever',
    run: async ({ databaseNetwork }) => databaseNetwork.strand(),
  },
  {
    name: 'database silent for 3 s',
    async run({ databaseNetwork }) {
      databaseNetwork.stall('to_client');
      await pause(3000);
      databaseNetwork.resume();
    },
  },
  {
    name: 'database stopped and started',
    async run(scene) {
      const { postgres } = scene;
      process.kill(postgres.pid, 'SIGINT');
      await postgres.exited;
      await pause(1000);
      const settings = { ...DATABASE_SETTINGS, port: String(postgres.port) };
      scene.postgres = await startPostgres({ folder: scene.folder, settings });
    },
  },
  { name: 'links cut', run: async ({ linkNetwork }) => linkNetwork.cut() },
  {
    name: 'links silent for 3 s',
    async run({ linkNetwork }) {
      linkNetwork.stall('both');
      await pause(3000);
      linkNetwork.resume();
    },
  },
  {
    name: 'links 150 ms slower for 4 s',
    async run({ linkNetwork }) {
      linkNetwork.delay(150);
      await pause(4000);
      linkNetwork.delay(0);
    },
  },
  {
    name: 'an agent killed, another started',
    async run({ service }) {
      const agent = service.agents.at(-1);
      agent?.signal('SIGKILL');
      await agent?.exited;
      await pause(500);
      await service.startAgent();
    },
  },
  {
    name: 'an agent replaced',
    async run({ service }) {
      const agent = service.agents.at(-1);
      await service.startAgent();
      await agent?.stop();
    },
  },
  {
    name: 'an agent that stands still for 5 s',
    async run({ service }) {
      const agent = service.agents.at(-1);
      agent?.signal('SIGSTOP');
      await pause(5000);
      agent?.signal('SIGCONT');
    },
  },
];

/** Those that end the gateway process. */
export const GATEWAY_FAULTS: readonly Fault[] = [
  {
    name: 'the gateway killed and started',
    async run({ service }) {
      service.gateway.signal('SIGKILL');
      await service.gateway.exited;
      await service.restartGateway();
    },
  },
  {
    name: 'the gateway stopped and started',
    async run({ service }) {
      await service.gateway.stop(40_000);
      await service.restartGateway();
    },
  },
];
