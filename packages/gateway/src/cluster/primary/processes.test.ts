import { spawn, type ChildProcess } from 'node:child_process';
import cluster from 'node:cluster';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { createPrimaryChannel } from './primary-channel.ts';
import { forwardLines } from './forward-lines.ts';
import { createReturnConnections } from './return-connections.ts';
import { createSupervisor } from './supervisor.ts';

describe('forwardLines', () => {
  it('hands over whole lines only, whatever pieces they come in, and drops what a killed writer had begun', async () => {
    const line = fc.string({ unit: 'grapheme', maxLength: 40 }).map((text) => text.replaceAll('\n', ' '));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 20 }),
        line,
        fc.array(fc.nat(7), { minLength: 1, maxLength: 10 }),
        async (lines, torn, sizes) => {
          const bytes = Buffer.from([...lines.map((text) => `${text}\n`), torn].join(''));
          const from = new PassThrough();
          const got: string[] = [];
          forwardLines(
            from,
            (text) => {
              got.push(text);
              return true;
            },
            () => {},
          );
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const size = 1 + (sizes[turn % sizes.length] ?? 0);
            from.write(bytes.subarray(at, at + size));
            at += size;
          }
          from.end();
          await new Promise((resolve) => from.once('close', resolve));
          expect(got.every((text) => text.endsWith('\n'))).toBe(true);
          expect(got.join('')).toBe(lines.map((text) => `${text}\n`).join(''));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('leaves the rest to the writer while too much waits', async () => {
    const from = new PassThrough({ highWaterMark: 64 });
    const space = new EventEmitter();
    const got: string[] = [];
    let enough = false;
    forwardLines(
      from,
      (text) => {
        got.push(text);
        return enough;
      },
      (listener) => space.once('space', listener),
    );
    from.write('one\n');
    await new Promise(setImmediate);
    from.write('two\n');
    await new Promise(setImmediate);
    expect(got).toEqual(['one\n']);
    enough = true;
    space.emit('space');
    await new Promise(setImmediate);
    expect(got).toEqual(['one\n', 'two\n']);
  });
});

describe('createSupervisor', () => {
  it.each([
    { told: 'later', cwd: '/there/is/no/such/folder', env: {} },
    { told: 'at once', cwd: '/', env: { TOO_LONG: 'x'.repeat(4_000_000) } },
  ])('tries again where no further process can be made, which Node.js tells $told', async ({ cwd, env }) => {
    cluster.setupPrimary({ cwd, serialization: 'advanced', silent: true });
    const returnConnections = createReturnConnections();
    const failures: string[] = [];
    let sound = true;
    const supervisor = createSupervisor({
      workers: 1,
      channel: createPrimaryChannel(),
      observe: (event) => void (event.event === 'internal_error' && failures.push(event.message)),
      fork() {
        // The first can be made and ends at once.
        const child = sound
          ? spawn(process.execPath, ['--version'], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
          : forkWorker();
        sound = false;
        return child;
      },
      onOutput: () => {},
      now: () => performance.now(),
    });
    const forkWorker = (): ChildProcess => {
      const worker = cluster.fork(env);
      returnConnections(worker);
      return worker.process;
    };
    void supervisor.start();
    await vi.waitFor(() => expect(failures.length).toBeGreaterThanOrEqual(2), { timeout: 20_000 });
    supervisor.kill();
    for (const failure of failures) expect(failure).toMatch(/^worker 0 cannot be started: /);
  });
});
