import type { CapabilityLimits } from '../../capabilities/model.ts';
import { Failure, writeRows, type PageBorder } from './engine-questions.ts';

type RowLimits = Pick<CapabilityLimits, 'maxRows' | 'maxBytes' | 'onLimit'>;

/** As many of the first rows as the limits allow, each as JSON text. */
export class RowTexts {
  readonly #limits: RowLimits;
  readonly #texts: string[] = [];
  /** The length of the array with brackets and commas. */
  #bytes = 2;
  #isTruncated = false;

  constructor(limits: RowLimits) {
    this.#limits = limits;
  }

  /** Whether there is room for one more row. If not, stop. Throws `Failure`. */
  mayTake(): boolean {
    const { maxRows } = this.#limits;
    return this.#texts.length < maxRows || this.#cut(`max_rows (${maxRows})`);
  }

  /** Whether the row had room. If not, stop. Undefined stands for a row that is too long. Throws `Failure`. */
  take(text: string | undefined): boolean {
    const { maxBytes } = this.#limits;
    const length = text === undefined ? maxBytes : Buffer.byteLength(text);
    if (text === undefined || length + 2 > maxBytes) {
      throw new Failure({
        kind: 'too_large',
        message: `one row alone is longer than max_bytes (${maxBytes})`,
      });
    }
    this.#bytes += length + Math.min(1, this.#texts.length);
    if (this.#bytes > maxBytes) return this.#cut(`max_bytes (${maxBytes})`);
    this.#texts.push(text);
    return true;
  }

  /** Whether rows are missing because of a limit. */
  get isTruncated(): boolean {
    return this.#isTruncated;
  }

  write(border?: PageBorder): Buffer {
    return writeRows(this.#texts, this.#isTruncated, border);
  }

  #cut(cap: string): false {
    if (this.#limits.onLimit === 'error') {
      throw new Failure({ kind: 'too_large', message: `more than ${cap}, and on_limit is error` });
    }
    this.#isTruncated = true;
    return false;
  }
}
