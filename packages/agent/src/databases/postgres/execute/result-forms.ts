import { createHash } from 'node:crypto';
import type { CapabilityLimits } from '../../../capabilities/model.ts';
import type { QueryResult } from '../../driver/driver.ts';
import { DatabaseError } from '../../driver/errors.ts';
import type { Rows } from '../connection/statement.ts';
import { fewLimit, type PreparedQuery, type ResultForm } from './prepared-query.ts';

/** After a result that did not fit into a form, so many runs use the next one. */
const LARGER_RUNS = 100;

export interface FormStatement extends NamedText {
  readonly form: ResultForm;
  /** What is sent in a shared transaction. */
  readonly shared?: NamedText;
}

interface NamedText {
  readonly name: string;
  readonly text: string;
}

/** Chooses the form of a query's next run by what the last ones gave. */
export class Forms {
  readonly #few: FormStatement | undefined;
  readonly #whole: FormStatement;
  readonly #prefix: FormStatement;
  #wholeRuns = 0;
  #prefixRuns = 0;

  constructor({ capability, own: { few, whole, prefix }, shared }: PreparedQuery) {
    const named = (text: string): NamedText => {
      // A name may have 63 bytes, and lasts as long as a connection: another text needs another name.
      const digest = createHash('sha256').update(text).digest('base64url').slice(0, 10);
      return { name: `svc.${capability}.${digest}`, text };
    };
    const statementOf = (form: ResultForm, text: string): FormStatement => {
      const other = shared?.[form];
      return { form, ...named(text), ...(other === undefined ? {} : { shared: named(other) }) };
    };
    this.#few = few === undefined ? undefined : statementOf('few', few);
    this.#whole = statementOf('whole', whole);
    this.#prefix = statementOf('prefix', prefix);
  }

  /** A query that is not short is sent as `prefix`: if its result did not fit into another form, it would run twice. */
  next(isShort: boolean): FormStatement {
    if (!isShort || this.#prefixRuns > 0) {
      this.#prefixRuns = Math.max(0, this.#prefixRuns - 1);
      return this.#prefix;
    }
    if (this.#few !== undefined && this.#wholeRuns === 0) return this.#few;
    this.#wholeRuns = Math.max(0, this.#wholeRuns - 1);
    return this.#whole;
  }

  exceeded(form: ResultForm): void {
    if (form === 'few') this.#wholeRuns = LARGER_RUNS;
    else this.#prefixRuns = LARGER_RUNS;
  }
}

type Value = string | null | undefined;

/** An answer, and the values of its last row by which it is ordered, if it was cut and has pages. */
export interface FormResult extends QueryResult {
  readonly last?: readonly (string | null)[];
}

/** Undefined if the result does not fit into the form `few` or `whole`, or lacks a value that must be there. */
export function resultOf(
  result: Rows | undefined,
  form: ResultForm,
  limits: CapabilityLimits,
): FormResult | undefined {
  if (form === 'few') return fewOf(result, limits);
  const row = result?.rows.length === 1 ? result.rows[0] : undefined;
  if (row === undefined) throw new DatabaseError('failed', 'the database gave no answer row');
  if (form === 'whole') {
    const [count, rows] = row;
    return rows === null && count !== '0' ? undefined : listed(count, rows, undefined, false);
  }
  const [count, more, oversized, rows, missing, isTied, ...last] = row;
  const truncated = more === 't';
  if (oversized === 't') {
    throw new DatabaseError('too_large', `one row alone is longer than max_bytes (${limits.maxBytes})`);
  }
  if (truncated && limits.onLimit === 'error') {
    // Rows are a prefix: if there are as many as there may be, the next one is too many.
    const [cap, most] =
      Number(count) === limits.maxRows ? ['max_rows', limits.maxRows] : ['max_bytes', limits.maxBytes];
    throw new DatabaseError('too_large', `more than ${cap} (${most}), and on_limit is error`);
  }
  const answer = listed(count, rows, missing, truncated);
  if (!truncated || last.length === 0) return answer;
  if (isTied === 't')
    throw new DatabaseError('tied', 'two rows are equal in all that the rows are ordered by');
  return { ...answer, last };
}

/** The statement that also gives back locks ends with a row that has an empty text. */
function fewOf(result: Rows | undefined, limits: CapabilityLimits): QueryResult | undefined {
  if (result === undefined) throw new DatabaseError('failed', 'the database gave no answer');
  const rows: string[] = [];
  for (const [row = null] of result.rows) {
    if (row === null) return undefined;
    if (row !== '') rows.push(row);
  }
  const isCut = rows.length >= fewLimit(limits);
  return isCut ? undefined : { rows: arrayOf(rows.join(',')), count: rows.length, truncated: false };
}

function listed(count: Value, rows: Value, missing: Value, truncated: boolean): QueryResult {
  if (typeof missing === 'string') {
    throw new DatabaseError('failed', `field ${missing} is null, and its nullable is false`);
  }
  return { rows: arrayOf(rows ?? ''), count: Number(count), truncated };
}

/** The JSON array of `items`, written into its place: a text with brackets around it would be copied first. */
function arrayOf(items: string): Buffer {
  const length = Buffer.byteLength(items);
  const array = Buffer.allocUnsafe(length + 2);
  array[0] = 0x5b;
  // A text with as many bytes as characters is ASCII, the same in Latin-1, which is written faster.
  array.write(items, 1, length === items.length ? 'latin1' : 'utf8');
  array[length + 1] = 0x5d;
  return array;
}
