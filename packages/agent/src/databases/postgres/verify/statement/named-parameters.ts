import type { Param } from '../../../../capabilities/model.ts';
import { scan, type Token } from './scan.ts';
import { textOf } from '../../connection/server-errors.ts';

/** A statement with its parameters taken out. */
export interface Template {
  /** The text before, between and behind the references, up to the last token: without `;` or a comment at its end. */
  readonly pieces: readonly Buffer[];
  /** What each `:name` in turn refers to, as an index of `params`. */
  readonly references: readonly number[];
  /** Every parameter used, in the order of its first use. */
  readonly params: readonly Param[];
}

/** What stands in place of one reference: `($number)`, or cast `($number::type)`, or bare `$number`. */
export interface Placeholder {
  readonly number: number;
  /** SQL types, the first one first; none leaves the type to the server. */
  readonly casts: readonly string[];
  /** Leaves out parentheses and casts; such a text is only for comparison. */
  readonly bare?: true;
}

export interface Rewritten {
  readonly text: string;
  /** Every place where a parameter was put. */
  readonly places: readonly Place[];
}

interface Place {
  readonly number: number;
  /** Of the `$`, in bytes from the start of `text`. */
  readonly offset: number;
}

interface RewriteFault {
  /** The parameter that is at fault; without one it is the SQL. */
  readonly param?: string;
  readonly message: string;
  readonly detail?: string;
}

export type RewriteResult =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly faults: readonly RewriteFault[] };

interface Reference {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Finds each `:name`. PostgreSQL's scanner decides what is a string, a comment or a cast; where even it cannot tell a
 * parameter from a slice bound, the SQL is refused.
 */
export function findParameters(sql: string, declared: readonly Param[]): RewriteResult {
  if (sql.includes('\0') || Buffer.from(sql, 'utf8').toString('utf8') !== sql) {
    return refused('contains characters that PostgreSQL does not accept: remove NUL and unpaired surrogates');
  }
  let tokens: readonly Token[];
  try {
    tokens = scan(sql).filter((token) => token.kind !== 'comment');
  } catch (error) {
    return {
      ok: false,
      faults: [{ message: 'cannot be read as SQL: check its quotes and comments', detail: textOf(error) }],
    };
  }
  tokens = withoutTrailingSemicolons(tokens);
  const last = tokens.at(-1);
  if (last === undefined) return refused('is empty: write one SELECT');

  const faults: RewriteFault[] = [];
  const references = findReferences(tokens, faults);
  const params = numberParameters(references, declared, faults);
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, template: cut(sql, last.end, references, params) };
}

function refused(message: string): RewriteResult {
  return { ok: false, faults: [{ message }] };
}

function withoutTrailingSemicolons(tokens: readonly Token[]): readonly Token[] {
  let end = tokens.length;
  while (tokens[end - 1]?.text === ';') end -= 1;
  return tokens.slice(0, end);
}

function findReferences(tokens: readonly Token[], faults: RewriteFault[]): readonly Reference[] {
  const references: Reference[] = [];
  /** The open brackets around the current token; only directly inside a subscript may `:` be a slice. */
  const open: ('group' | 'constructor' | 'subscript')[] = [];
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    const next = tokens[index + 1];
    if (token.kind === 'parameter') {
      faults.push({ message: `uses ${token.text}: write parameters as :name` });
    } else if (token.text === '(') {
      open.push('group');
    } else if (token.text === '[') {
      open.push(opensConstructor(before, open.at(-1)) ? 'constructor' : 'subscript');
    } else if (token.text === ')' || token.text === ']') {
      open.pop();
    } else if (token.text === ':' && next?.kind === 'name' && next.start === token.end) {
      if (open.at(-1) === 'subscript') {
        faults.push({
          message: `:${next.text} inside a subscript could also be the end of a slice: write (:${next.text})`,
        });
      } else {
        references.push({ name: next.text, start: token.start, end: next.end });
      }
    }
  }
  return references;
}

function opensConstructor(before: Token | undefined, around: string | undefined): boolean {
  if (before?.text.toLowerCase() === 'array') return true;
  return around === 'constructor' && (before?.text === '[' || before?.text === ',');
}

function numberParameters(
  references: readonly Reference[],
  declared: readonly Param[],
  faults: RewriteFault[],
): readonly Param[] {
  const byName = new Map(declared.map((param) => [param.name, param]));
  const used = new Map<string, Param>();
  for (const name of new Set(references.map((reference) => reference.name))) {
    const param = byName.get(name);
    if (param === undefined)
      faults.push({ message: `uses :${name}, which is not declared: add it to params` });
    else used.set(name, param);
  }
  for (const { name } of declared) {
    if (!used.has(name))
      faults.push({ param: name, message: `is not used: write :${name} in the SQL or remove it` });
  }
  return [...used.values()];
}

function cut(sql: string, end: number, references: readonly Reference[], params: readonly Param[]): Template {
  const source = Buffer.from(sql, 'utf8');
  const starts = [0, ...references.map((reference) => reference.end)];
  const ends = [...references.map((reference) => reference.start), end];
  return {
    pieces: starts.map((start, index) => source.subarray(start, ends[index])),
    references: references.map(({ name }) => params.findIndex((param) => param.name === name)),
    params,
  };
}

/** Puts the placeholders, one for each reference, where the references were. */
export function fillTemplate({ pieces }: Template, placeholders: readonly Placeholder[]): Rewritten {
  const filled: Buffer[] = [];
  const places: Place[] = [];
  let length = 0;
  const push = (piece: Buffer): void => {
    filled.push(piece);
    length += piece.length;
  };
  for (const [index, piece] of pieces.entries()) {
    push(piece);
    const placeholder = placeholders[index];
    if (placeholder === undefined) continue;
    const { number, casts, bare } = placeholder;
    if (bare === true) {
      places.push({ number, offset: length + 1 });
      push(Buffer.from(` $${number} `));
      continue;
    }
    // The spaces keep `x:a` from becoming `x$1`, the parentheses keep the cast from taking in what follows.
    places.push({ number, offset: length + 2 });
    push(Buffer.from(` (${[`$${number}`, ...casts].join('::')}) `));
  }
  return { text: Buffer.concat(filled).toString('utf8'), places };
}
