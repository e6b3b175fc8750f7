import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { hashSync } from 'bcryptjs';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createVerifier, type Verifier } from './verifier.ts';

const HASH = hashSync('right', 4);
let folder = '';
let script = '';
const open: Verifier[] = [];

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'svc-verifier-'));
  script = path.join(folder, 'worker.cjs');
  const source = path.join(import.meta.dirname, 'verifier-worker.ts');
  await build({
    stdin: {
      contents: `import { runVerifierWorker } from ${JSON.stringify(source)}; runVerifierWorker();`,
      resolveDir: import.meta.dirname,
    },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    outfile: script,
  });
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((verifier) => verifier.close()));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function setUp(limits: { maxThreads?: number; idleMs?: number } = {}) {
  const workers: Worker[] = [];
  const verifier = createVerifier({
    ...limits,
    spawn: () => {
      const worker = new Worker(script);
      workers.push(worker);
      return worker;
    },
  });
  open.push(verifier);
  return { verifier, workers };
}

describe('createVerifier', () => {
  it('tells a right key from a wrong one', async () => {
    const { verifier } = setUp();
    expect(await verifier.verify('right', HASH)).toBe(true);
    expect(await verifier.verify('wrong', HASH)).toBe(false);
    expect(await verifier.verify('right', HASH.replace('$2b$', '$2y$'))).toBe(true);
  });

  it('starts no thread before it is needed, and no more than it may', async () => {
    const { verifier, workers } = setUp({ maxThreads: 2 });
    expect(workers).toHaveLength(0);
    const keys = ['right', 'wrong', 'right', 'wrong', 'right'];
    const answers = await Promise.all(keys.map((key) => verifier.verify(key, HASH)));
    expect(answers).toEqual([true, false, true, false, true]);
    expect(workers).toHaveLength(2);
  });

  it('leaves the event loop free', async () => {
    const { verifier } = setUp();
    const slow = hashSync('right', 11);
    await verifier.verify('right', HASH);
    const lags: number[] = [];
    let before = performance.now();
    const timer = setInterval(() => {
      lags.push(performance.now() - before);
      before = performance.now();
    }, 5);
    await verifier.verify('right', slow);
    clearInterval(timer);
    expect(lags.length).toBeGreaterThan(3);
  });

  it('rejects the job of a thread that is lost, and goes on with another', async () => {
    const { verifier, workers } = setUp({ maxThreads: 1 });
    await verifier.verify('right', HASH);
    const lost = verifier.verify('right', hashSync('right', 12));
    const next = verifier.verify('right', HASH);
    await workers[0]?.terminate();
    await expect(lost).rejects.toThrow('cannot verify a key');
    expect(await next).toBe(true);
    expect(workers).toHaveLength(2);
  });

  it('rejects a job that the thread cannot read, and goes on', async () => {
    const { verifier } = setUp();
    await expect(verifier.verify('right', `$9${HASH.slice(2)}`)).rejects.toThrow('cannot verify a key');
    expect(await verifier.verify('right', HASH)).toBe(true);
  });

  it('rejects when no thread can be started', async () => {
    const verifier = createVerifier({
      spawn: () => {
        throw new Error('out of memory');
      },
    });
    await expect(verifier.verify('right', HASH)).rejects.toThrow('cannot verify a key');
  });

  it('ends idle threads and starts new ones later', async () => {
    const { verifier, workers } = setUp({ idleMs: 10 });
    await verifier.verify('right', HASH);
    await new Promise((resolve) => workers[0]?.once('exit', resolve));
    expect(await verifier.verify('right', HASH)).toBe(true);
    expect(workers).toHaveLength(2);
  });

  it('rejects what waits when it is closed', async () => {
    const { verifier } = setUp({ maxThreads: 1 });
    const slow = hashSync('right', 12);
    const outcomes = Promise.allSettled([verifier.verify('right', slow), verifier.verify('right', slow)]);
    await verifier.close();
    expect((await outcomes).map((outcome) => outcome.status)).toEqual(['rejected', 'rejected']);
    await expect(verifier.verify('right', HASH)).rejects.toThrow('cannot verify a key');
  });
});
