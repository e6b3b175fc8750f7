import type { Param } from '../../capabilities/model.ts';

/** A statement with its parameters taken out. */
export interface Template {
  /** The text before, between and behind the references, up to the last token: without `;` or a comment at its end. */
  readonly pieces: readonly Buffer[];
  /** What each `:name` in turn refers to, as an index of `params`. */
  readonly references: readonly number[];
  /** Every parameter used, in the order of its first use. */
  readonly params: readonly Param[];
}

/** What the scanner of a dialect finds in a statement. Offsets are in bytes of its UTF-8 form. */
export interface ScannedStatement {
  readonly references: readonly Reference[];
  /** Where its last token ends. */
  readonly end: number;
  /** Its quoted texts and its comments, as written: a `:name` in them is none, which who wrote it may not know. */
  readonly texts: readonly string[];
  readonly comments: readonly string[];
  readonly faults: readonly ParameterFault[];
}

/** One `:name`. */
export interface Reference {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface ParameterFault {
  /** The parameter that is at fault; without one it is the SQL. */
  readonly param?: string;
  readonly message: string;
  readonly detail?: string;
}

export type TemplateResult =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly faults: readonly ParameterFault[] };

/** Matches the references with the parameters: each must be declared, and each that is declared must be used. */
export function createTemplate(
  sql: string,
  scanned: ScannedStatement,
  declared: readonly Param[],
): TemplateResult {
  const faults = [...scanned.faults];
  const params = usedParams(scanned, declared, faults);
  if (faults.length > 0) return { ok: false, faults };
  return { ok: true, template: cut(sql, scanned, params) };
}

function usedParams(
  scanned: ScannedStatement,
  declared: readonly Param[],
  faults: ParameterFault[],
): readonly Param[] {
  const byName = new Map(declared.map((param) => [param.name, param]));
  const used = new Map<string, Param>();
  for (const name of new Set(scanned.references.map((reference) => reference.name))) {
    const param = byName.get(name);
    if (param === undefined)
      faults.push({ message: `uses :${name}, which is not declared: add it to params` });
    else used.set(name, param);
  }
  for (const { name } of declared) {
    if (!used.has(name)) faults.push({ param: name, message: unusedMessage(name, scanned) });
  }
  return [...used.values()];
}

function unusedMessage(name: string, { texts, comments }: ScannedStatement): string {
  const written = new RegExp(`:${name}(?![A-Za-z0-9_])`);
  if (texts.some((text) => written.test(text))) {
    return `is not used: :${name} inside a quoted text is no parameter; write '%' || :${name} || '%' for '%:${name}%'`;
  }
  if (comments.some((comment) => written.test(comment))) {
    return `is not used: :${name} in a comment is no parameter; write it outside or remove it`;
  }
  return `is not used: write :${name} in the SQL or remove it`;
}

function cut(sql: string, { references, end }: ScannedStatement, params: readonly Param[]): Template {
  const source = Buffer.from(sql, 'utf8');
  const starts = [0, ...references.map((reference) => reference.end)];
  const ends = [...references.map((reference) => reference.start), end];
  return {
    pieces: starts.map((start, index) => source.subarray(start, ends[index])),
    references: references.map(({ name }) => params.findIndex((param) => param.name === name)),
    params,
  };
}

/** What a dialect writes in place of one reference. */
export interface WrittenPlaceholder {
  readonly text: string;
  /** Where in `text` the parameter itself begins, in bytes; absent: at its start. */
  readonly offset?: number;
}

export interface FilledTemplate {
  readonly text: string;
  /** Every place where a parameter was put. */
  readonly places: readonly Place[];
}

interface Place {
  readonly number: number;
  /** Of the parameter, in bytes from the start of `text`. */
  readonly offset: number;
}

/** Puts the placeholders, one for each reference, where the references were. */
export function fillTemplate<Placeholder extends { readonly number: number }>(
  { pieces }: Template,
  placeholders: readonly Placeholder[],
  write: (placeholder: Placeholder) => WrittenPlaceholder,
): FilledTemplate {
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
    const { text, offset = 0 } = write(placeholder);
    places.push({ number: placeholder.number, offset: length + offset });
    push(Buffer.from(text));
  }
  return { text: Buffer.concat(filled).toString('utf8'), places };
}
