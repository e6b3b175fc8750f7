import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from '@svc/testkit';
import { expect, test } from 'vitest';
import { readSides } from './read-side.ts';

test('a description that is nested without end is refused', { tags: ['command:diff'] }, async () => {
  const folder = await temporaryFolder('diff');
  try {
    const file = join(folder.path, 'openapi.json');
    const items = `${'{"type":"array","items":'.repeat(100_000)}{}${'}'.repeat(100_000)}`;
    const body = `{"content":{"application/json":{"schema":{"properties":{"p":${items}}}}}}`;
    const post = `{"post":{"requestBody":${body}}}`;
    await writeFile(file, `{"openapi":"3.1.0","paths":{"/api/v1/capabilities/a":${post}}}`);
    expect(await readSides([file], '')).toEqual([
      {
        kind: 'faults',
        faults: [{ path: '', message: 'is nested too deeply for a description of capabilities' }],
        isUnreachable: false,
      },
    ]);
  } finally {
    await folder.remove();
  }
});
