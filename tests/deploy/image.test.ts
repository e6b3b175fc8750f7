import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../documentation/documents.ts';

const lines = readFileSync(join(ROOT, 'deploy/oci/Containerfile'), 'utf8')
  .split('\n')
  .filter((line) => /^[A-Z]/.test(line));
const [base, ...rest] = lines;
const stages = rest
  .join('\n')
  .split(/^(?=FROM )/m)
  .map((stage) => stage.trim().split('\n'));

test('the images stand on one that cannot become another', () => {
  expect(base).toMatch(/^ARG BASE=docker\.io\/library\/node:\d+-slim@sha256:[0-9a-f]{64}$/);
  expect(stages.map(([from]) => from)).toEqual(
    ['svc-gateway', 'svc-agent'].map((program) => `FROM \${BASE} AS ${program}`),
  );
});

test.each(stages)(
  '%s runs nothing while it is made, and has nobody as its user',
  (_from, ...instructions) => {
    const words = instructions.map((line) => line.split(' ', 1)[0]);
    expect(
      words.filter((word) => !['COPY', 'ENV', 'EXPOSE', 'USER', 'ENTRYPOINT', 'CMD'].includes(word ?? '')),
    ).toEqual([]);
    expect(instructions.filter((line) => line.startsWith('USER'))).toEqual(['USER 65532:65532']);
    // Without a mode the one that a file has here would count.
    for (const copy of instructions.filter((line) => line.startsWith('COPY'))) {
      expect(copy).toMatch(/^COPY --chmod=0[67](?:44|55) /);
    }
  },
);
