import type { Param } from '../../config/agent-config.ts';
import { sqlTypeOf } from './values.ts';
import { scan, type Token } from './scan.ts';
import { textOf } from './errors.ts';

export interface Rewritten {
  /** The statement up to its last token, so without `;` or a comment at its end; `($n::type)` for each `:name`. */
  readonly text: string;
  /** The parameters in the order of their numbers: the first is `$1`. */
  readonly params: readonly Param[];
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
  | { readonly ok: true; readonly rewritten: Rewritten }
  | { readonly ok: false; readonly faults: readonly RewriteFault[] };

interface Reference {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Replaces `:name` by numbered parameters of the declared types. PostgreSQL's scanner decides what is a string, a
 * comment or a cast; where even it cannot tell a parameter from a slice bound, the SQL is refused.
 */
export function rewriteParameters(sql: string, declared: readonly Param[]): RewriteResult {
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
  return { ok: true, rewritten: emit(sql, last.end, references, params) };
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

function emit(
  sql: string,
  end: number,
  references: readonly Reference[],
  params: readonly Param[],
): Rewritten {
  const source = Buffer.from(sql, 'utf8');
  const numbers = new Map(
    params.map((param, index) => [param.name, { number: index + 1, type: sqlTypeOf(param.schema) }]),
  );
  const pieces: Buffer[] = [];
  const places: Place[] = [];
  let at = 0;
  let length = 0;
  const push = (piece: Buffer): void => {
    pieces.push(piece);
    length += piece.length;
  };
  for (const reference of references) {
    const param = numbers.get(reference.name);
    if (param === undefined) continue;
    push(source.subarray(at, reference.start));
    // The spaces keep `x:a` from becoming `x$1`, the parentheses keep the cast from taking in what follows.
    places.push({ number: param.number, offset: length + 2 });
    push(Buffer.from(` ($${param.number}::${param.type}) `));
    at = reference.end;
  }
  push(source.subarray(at, end));
  return { text: Buffer.concat(pieces).toString('utf8'), params, places };
}
