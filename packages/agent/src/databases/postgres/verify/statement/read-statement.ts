import type { Capability } from '../../../../capabilities/model.ts';
import { faultAt } from '../../../sql/fault-at.ts';
import type { VerificationFault } from '../../../driver/errors.ts';
import {
  type FilledTemplate,
  fillTemplate,
  type Template,
  type WrittenPlaceholder,
} from '../../../sql/template.ts';
import { presetsBeyond } from '../../../sql/signed-integer.ts';
import { isForbidden } from '../functions/known-functions.ts';
import { comparesRow, isSameMeaning, rewriteLists } from './list-parameters.ts';
import { findParameters } from './named-parameters.ts';
import { fingerprint } from './tree.ts';
import { sqlTypeOf } from '../../execute/bind-values.ts';
import { type Inspected, inspectSelect, tooDeep } from './inspect.ts';

/** Stands in place of one reference: `($number)`, or cast `($number::type)`, or bare `$number`. */
export interface Placeholder {
  readonly number: number;
  /** SQL types, the innermost first; none leaves the type to the server. */
  readonly casts: readonly string[];
  /** Without parentheses and casts, only for comparison. */
  readonly bare?: true;
}

export interface ReadStatement {
  readonly template: Template;
  readonly rewritten: FilledTemplate;
  readonly inspected: Inspected;
  /** The statement as written, with arrays in IN not read as its lists: the column may be an array, too. */
  readonly written?: ReadStatement;
}

export type ReadResult =
  | { readonly ok: true; readonly read: ReadStatement }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };

/** Throws any other error again, which is not the capability's fault. */
export function refusedAsTooDeep(
  capability: Capability,
  error: unknown,
): { readonly ok: false; readonly faults: readonly VerificationFault[] } {
  const fault = tooDeep(error);
  if (fault === undefined) throw error;
  return { ok: false, faults: [faultAt(capability, fault)] };
}

/**
 * All that can be known of a capability's SQL without a database: one reading statement, every `:name` declared and
 * used, no call that is never allowed. Parameters have their declared types. The parser module must have been loaded.
 */
export function readStatement(capability: Capability): ReadResult {
  const found = findParameters(capability.sql, capability.params);
  const wrong = [...presetsBeyond(capability), ...(found.ok ? [] : found.faults)];
  if (!found.ok || wrong.length > 0) {
    return { ok: false, faults: wrong.map(({ param, ...fault }) => faultAt(capability, fault, param)) };
  }
  const placeholders = declaredPlaceholders(found.template);
  const result = readFilled(capability, found.template, placeholders);
  if (!result.ok) return result;
  const taken = takenAsArgument(found.template, placeholders);
  if (taken === undefined) return readLists(capability, result.read);
  const message = `has :${taken} where its value would become the argument of what stands before it: write the parentheses, as in f(:${taken}) or in (:${taken}), or a cast, as in :${taken}::date`;
  return { ok: false, faults: [faultAt(capability, { message })] };
}

function readLists(capability: Capability, written: ReadStatement): ReadResult {
  const sql = rewriteLists(capability.sql, capability.params);
  if (sql === undefined) return { ok: true, read: written };
  const { params } = written.template;
  const list = params.find(({ schema }) => schema.type === 'array');
  if (comparesRow(written.inspected.tree, params)) {
    const message = 'is an array, but the SQL compares several values with each item: compare one';
    return { ok: false, faults: [faultAt(capability, { message }, list?.name)] };
  }
  const found = findParameters(sql, capability.params);
  const result = found.ok
    ? readFilled(capability, found.template, declaredPlaceholders(found.template))
    : undefined;
  if (result?.ok === true && isSameMeaning(written.inspected.tree, result.read.inspected.tree, params)) {
    return { ok: true, read: { ...result.read, written } };
  }
  const message = `has in (:${list?.name}) beside another comparison: write parentheses around it, as in (x in (:${list?.name}))`;
  return { ok: false, faults: [faultAt(capability, { message })] };
}

/**
 * The first parameter that is valid only by the parentheses around it, as in `upper:p`, which is not SQL but would
 * become a call of `upper`.
 */
function takenAsArgument(template: Template, placeholders: readonly Placeholder[]): string | undefined {
  const enclosed = placeholders.map(({ number }): Placeholder => ({ number, casts: [] }));
  const meant = statementText(template, enclosed);
  const isTaken = (at?: number): boolean => {
    const bared = enclosed.map((each, index): Placeholder =>
      at === undefined || index === at ? { ...each, bare: true } : each,
    );
    return statementText(template, bared) !== meant;
  };
  if (!isTaken()) return undefined;
  const at = enclosed.findIndex((_, index) => isTaken(index));
  return template.params[template.references[at] ?? 0]?.name;
}

/** Equal for texts that mean the same; undefined for what is not a SELECT. */
function statementText(template: Template, placeholders: readonly Placeholder[]): string | undefined {
  const result = inspectSelect(fillPlaceholders(template, placeholders).text);
  return result.ok ? fingerprint(result.inspected.tree) : undefined;
}

function declaredPlaceholders({ params, references }: Template): readonly Placeholder[] {
  return references.flatMap((index) => {
    const param = params[index];
    return param === undefined ? [] : [{ number: index + 1, casts: [sqlTypeOf(param.schema)] }];
  });
}

function fillPlaceholders(template: Template, placeholders: readonly Placeholder[]): FilledTemplate {
  return fillTemplate(template, placeholders, write);
}

function write({ number, casts, bare }: Placeholder): WrittenPlaceholder {
  if (bare === true) return { text: ` $${number} `, offset: 1 };
  // Spaces keep `x:a` from becoming `x$1`. Parentheses keep a cast from taking in what follows.
  return { text: ` (${[`$${number}`, ...casts].join('::')}) `, offset: 2 };
}

/** The same checks for other placeholders: what is sent to the server has passed them as it is sent. */
export function readFilled(
  capability: Capability,
  template: Template,
  placeholders: readonly Placeholder[],
): ReadResult {
  const rewritten = fillPlaceholders(template, placeholders);
  const result = inspectSelect(rewritten.text);
  if (!result.ok) return { ok: false, faults: result.faults.map((fault) => faultAt(capability, fault)) };
  const { inspected } = result;
  if (!sameParameters(rewritten, inspected)) {
    const message = 'uses a parameter where PostgreSQL does not take one: write (:name) in parentheses';
    return { ok: false, faults: [faultAt(capability, { message })] };
  }
  const forbidden = [...new Set(inspected.functions.map(({ name }) => name).filter(isForbidden))];
  if (forbidden.length > 0) {
    const faults = forbidden.map((name) => faultAt(capability, { message: forbiddenMessage(name) }));
    return { ok: false, faults };
  }
  return { ok: true, read: { template, rewritten, inspected } };
}

export function forbiddenMessage(name: string): string {
  return `calls ${name}, which does more than read and is never allowed: remove it`;
}

/** Whether the parser sees the parameters exactly where they were put, and no others. */
export function sameParameters(rewritten: FilledTemplate, inspected: Inspected): boolean {
  const key = ({ number, offset }: { readonly number: number; readonly offset: number }): string =>
    `${number}@${offset}`;
  const put = new Set(rewritten.places.map(key));
  const found = new Set(inspected.parameters.map(key));
  return put.size === found.size && [...put].every((place) => found.has(place));
}
