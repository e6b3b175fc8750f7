import type { CapabilityLimits } from '../../../capabilities/model.ts';
import type { QueryResult } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { Texts } from '../../clauses/choose.ts';
import { unsortedKey } from './page-keys.ts';
import type { KeyKind, PreparedQuery } from './prepared-query.ts';
import { writeFloats } from './write-floats.ts';

/** Takes rows on arrival, as many of the first as the limits allow. */
export class RowCollector {
  readonly #limits: CapabilityLimits;
  readonly #required: readonly string[];
  readonly #hasFloats: boolean;
  readonly #rows: Buffer[] = [];
  /** The length of the array with brackets and commas. */
  #bytes = 2;
  #excess = 0;
  #isTruncated = false;
  #error: DatabaseError | undefined;
  readonly #keys: readonly KeyKind[] | undefined;
  #last: Texts = [];
  #next: Texts | undefined;
  readonly #sortedBytes: number;

  constructor({ limits, required, hasFloats, keys }: PreparedQuery, sortedBytes: number) {
    this.#sortedBytes = sortedBytes;
    this.#limits = limits;
    this.#required = required;
    this.#hasFloats = hasFloats;
    this.#keys = keys;
  }

  /** Where a page is cut; undefined for one that is not. */
  get border(): { readonly last: Texts; readonly next: Texts } | undefined {
    return this.#next && { last: this.#last, next: this.#next };
  }

  /** Returns how many bytes have arrived after the rows that count. */
  add(row: unknown): number {
    const [sent, missing, ...keys]: readonly unknown[] = Array.isArray(row) ? row : [];
    const json: unknown = this.#hasFloats && Buffer.isBuffer(sent) ? writeFloats(sent) : sent;
    const length = Buffer.isBuffer(json) ? json.length : 0;
    if (this.#isTruncated || this.#error !== undefined) {
      this.#excess += length;
      return this.#excess;
    }
    const { maxRows, maxBytes, onLimit } = this.#limits;
    const texts = keys.map(textOf);
    if (this.#keys !== undefined && this.#rows.length > 0) this.#checkOrder(this.#keys, texts);
    if (this.#rows.length >= maxRows) {
      this.#cut(`max_rows (${maxRows})`, onLimit);
    } else if (!Buffer.isBuffer(json) || length + 2 > maxBytes) {
      // The server gives NULL for a text longer than its max_allowed_packet.
      this.#error = new DatabaseError('too_large', `one row alone is longer than max_bytes (${maxBytes})`);
    } else if (this.#bytes + length + Math.min(1, this.#rows.length) > maxBytes) {
      this.#cut(`max_bytes (${maxBytes})`, onLimit);
    } else if (missing !== undefined && missing !== null) {
      const field = this.#required[Number(missing)] ?? '';
      this.#error = new DatabaseError('failed', `field ${field} is null, and its nullable is false`);
    } else {
      this.#bytes += length + Math.min(1, this.#rows.length);
      this.#rows.push(json);
      this.#last = texts;
    }
    if (this.#isTruncated && this.#keys !== undefined) this.#next = texts;
    return this.#excess;
  }

  #checkOrder(kinds: readonly KeyKind[], texts: Texts): void {
    const field = unsortedKey(kinds, this.#last, texts, this.#sortedBytes);
    if (field === undefined) return;
    const message = `two rows have texts in the field ${field} that begin alike and are longer than the server sorts by: sort by their beginning, as in left(${field}, 100)`;
    this.#error = new DatabaseError('failed', message);
  }

  /** Throws `DatabaseError` for rows that must not leave. */
  result(): QueryResult {
    if (this.#error !== undefined) throw this.#error;
    const rows = Buffer.allocUnsafe(this.#bytes);
    let at = rows.write('[', 0);
    for (const [index, row] of this.#rows.entries()) {
      if (index > 0) at += rows.write(',', at);
      at += row.copy(rows, at);
    }
    rows.write(']', at);
    return { rows, count: this.#rows.length, truncated: this.#isTruncated };
  }

  #cut(cap: string, onLimit: CapabilityLimits['onLimit']): void {
    this.#isTruncated = true;
    if (onLimit === 'error') {
      this.#error = new DatabaseError('too_large', `more than ${cap}, and on_limit is error`);
    }
  }
}

function textOf(key: unknown): string | null {
  if (typeof key === 'string') return key;
  return Buffer.isBuffer(key) ? key.toString() : null;
}
