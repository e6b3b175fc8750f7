import { atOnce, inSlices, type Sliced } from '@svc/edge';
import type { Description } from '@svc/protocol';

/** Work on a shorter description takes less than a tenth of a second. */
const LONG_BYTES = 1024 * 1024;

const long = new WeakSet<Description>();

/** Does the work at once, or in slices when descriptions of this total length are long. */
export function makeOfBytes<Made>(bytes: number, work: Sliced<Made>): Made | Promise<Made> {
  return bytes > LONG_BYTES ? inSlices(work) : atOnce(work);
}

export function makeOf<Made>(description: Description, work: Sliced<Made>): Made | Promise<Made> {
  return long.has(description) ? inSlices(work) : atOnce(work);
}

export function noteBytes(description: Description, bytes: number): void {
  if (bytes > LONG_BYTES) long.add(description);
}
