import { atOnce, inSlices, type Sliced } from '@svc/edge';
import type { Description } from '@svc/protocol';

/** What is made of a shorter description takes less than a tenth of a second. */
const LONG_BYTES = 1024 * 1024;

/** Descriptions that are longer. */
const long = new WeakSet<Description>();

/** Does what is made of descriptions of this length together: slice by slice where they are long. */
export function makeOfBytes<Made>(bytes: number, work: Sliced<Made>): Made | Promise<Made> {
  return bytes > LONG_BYTES ? inSlices(work) : atOnce(work);
}

export function makeOf<Made>(description: Description, work: Sliced<Made>): Made | Promise<Made> {
  return long.has(description) ? inSlices(work) : atOnce(work);
}

/** Takes note of how long it is. */
export function noteBytes(description: Description, bytes: number): void {
  if (bytes > LONG_BYTES) long.add(description);
}
