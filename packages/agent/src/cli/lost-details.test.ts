import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { warnOfLostDetails } from './lost-details.ts';

test('only what refers to a log file that cannot be written is said to be lost', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  const home = join(tmpdir(), 'there-is-no-such-folder');
  const fault = { path: 'database', message: 'cannot use the database' };
  warnOfLostDetails([fault], home);
  warnOfLostDetails([{ ...fault, detail: 'said by the database' }], tmpdir());
  expect(write).not.toHaveBeenCalled();
  warnOfLostDetails([{ ...fault, detail: 'said by the database' }], home);
  expect(write).toHaveBeenCalledOnce();
  expect(write.mock.calls[0]?.[0]).toMatch(
    /^svc-agent: cannot write .*: what the database says is not kept\n$/,
  );
});
