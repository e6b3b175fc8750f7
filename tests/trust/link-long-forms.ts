import { parseArgs } from 'node:util';
import { createReleasers, startPostgres, type Releasers } from '@svc/testkit';
import { stopRequest } from '../../examples/start-stop-request.ts';
import type { LinkFault } from './link-fault.testing.ts';
import { LOSS_FAULTS } from './link-losses.testing.ts';
import { NETWORK_FAULTS } from './link-network.testing.ts';
import { SCENE_SQL, startScene, type LinkScene } from './link-scene.testing.ts';
import { expectBack, sizesOf, type Sizes } from './link-sizes.testing.ts';
import { STRANGER_FAULTS } from './link-strangers.testing.ts';
import { warmUp } from './link-warm-up.testing.ts';
import { readOrUsage } from './read-or-usage.ts';

const FAULTS = [...STRANGER_FAULTS, ...NETWORK_FAULTS, ...LOSS_FAULTS];
const DATABASE = 'faults';

const USAGE = `Usage: npm run test:faults -- [--minutes N] [--only NAME[,NAME...]]

Breaks the link between a gateway and an agent in every way that there is a promise for, with the durations and
numbers that prove it, and checks after each that nothing was left behind; npm test has a short form of each.
One round takes about 15 minutes; --minutes begins another one until that much time has passed.
`;
const OPTIONS = {
  minutes: { type: 'string', default: '0' },
  only: { type: 'string' },
  help: { type: 'boolean' },
} as const;

interface LongRun {
  readonly faults: readonly LinkFault[];
  /** Rounds begin until so much time has passed; the first one always. */
  readonly minutes: number;
}

/** Runs the long forms one after the other against one gateway, agent and PostgreSQL. Resolves to the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const read = readOrUsage(USAGE, () => {
    const { values } = parseArgs({ args: [...args], options: OPTIONS });
    if (values.help) return undefined;
    const minutes = Number(values.minutes);
    if (!(minutes >= 0)) throw new TypeError('--minutes must be a number of minutes');
    return { minutes, faults: chosenFaults(values.only) };
  });
  return typeof read === 'number' ? read : runLongForms(read);
}

function chosenFaults(only: string | undefined): readonly LinkFault[] {
  if (only === undefined) return FAULTS;
  const names = only.split(',').map((name) => name.trim());
  const known = FAULTS.map(({ name }) => name);
  const unknown = names.filter((name) => !known.includes(name));
  if (unknown.length > 0)
    throw new TypeError(`no fault ${unknown.join(', ')}; there are ${known.join(', ')}`);
  return FAULTS.filter(({ name }) => names.includes(name));
}

/** Each fault is followed by the check that all is back. Resolves to 0 when all held, 1 when not, 130 after a signal. */
async function runLongForms({ faults, minutes }: LongRun): Promise<number> {
  const stop = stopRequest();
  const releasers = createReleasers();
  const work = runAll(faults, minutes, releasers, stop.signal);
  try {
    const failures = await Promise.race([work, stop.requested]);
    if (typeof failures === 'number') return failures === 0 ? 0 : 1;
    // What is cut short now fails, and nobody wants to know.
    work.catch(() => {});
    return 130;
  } finally {
    await releasers.closeAll();
    stop.close();
  }
}

/** Resolves to the number of failures. */
async function runAll(
  faults: readonly LinkFault[],
  minutes: number,
  releasers: Releasers,
  signal: AbortSignal,
): Promise<number> {
  const until = performance.now() + 60_000 * minutes;
  const counts = { passed: 0, failed: 0 };
  let stage = await freshStage(releasers);
  do {
    for (const { name, long } of faults) {
      const started = performance.now();
      const { scene, before } = stage;
      const outcome = await held(async () => {
        const figures = await long(scene);
        await expectBack(scene, before);
        return figures;
      });
      if (signal.aborted) return counts.failed;
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      process.stdout.write(`${outcome.held ? 'held  ' : 'FAILED'} ${name} (${seconds} s): ${outcome.says}\n`);
      counts[outcome.held ? 'passed' : 'failed']++;
      // What a broken promise leaves behind would be blamed on the next fault.
      if (!outcome.held) {
        await stage.stop();
        stage = await freshStage(releasers);
      }
    }
  } while (performance.now() < until);
  process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
  return counts.failed;
}

async function held(work: () => Promise<string>): Promise<{ readonly held: boolean; readonly says: string }> {
  try {
    return { held: true, says: await work() };
  } catch (error) {
    return { held: false, says: (error instanceof Error ? error.message : String(error)).slice(0, 600) };
  }
}

interface Stage {
  readonly scene: LinkScene;
  /** When nothing had gone wrong yet, so that what leaks little by little shows in the end. */
  readonly before: Sizes;
  stop(): Promise<void>;
}

async function freshStage(all: Releasers): Promise<Stage> {
  const releasers = createReleasers();
  await all.add(() => releasers.closeAll());
  const postgres = await startPostgres();
  await releasers.add(() => postgres.stop());
  await postgres.createDatabase(DATABASE);
  await postgres.execute(DATABASE, SCENE_SQL);
  const { host, port, user, password } = postgres;
  const scene = await startScene({ host, port, user, password, name: DATABASE });
  await releasers.add(() => scene.stop());
  await warmUp(scene);
  return { scene, before: await sizesOf(scene), stop: () => releasers.closeAll() };
}
