import { randomFillSync } from 'node:crypto';

/** Digits that are made at once: for each id by itself it would take a tenth of what a traced call may cost. */
const BATCH_BYTES = 3072;

/** Random hexadecimal ids of an even number of digits, never all zeros. */
export function createRandomIds(): (digits: number) => string {
  const bytes = Buffer.alloc(BATCH_BYTES);
  let text = '';
  let at = 0;
  return (digits) => {
    for (;;) {
      if (at + digits > text.length) {
        text = randomFillSync(bytes).toString('hex');
        at = 0;
      }
      const id = text.slice(at, at + digits);
      at += digits;
      if (/[^0]/.test(id)) return id;
    }
  };
}
