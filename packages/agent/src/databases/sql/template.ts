import type { Param } from '../../capabilities/model.ts';

/** A statement with its parameters taken out. */
export interface Template {
  /** The text around the references up to the last token, without a `;` or a comment at its end. */
  readonly pieces: readonly Buffer[];
  /** For each `:name` the index of its parameter in `params`. */
  readonly references: readonly number[];
  /** The used parameters in the order of their first use. */
  readonly params: readonly Param[];
}

/** What a dialect's scanner finds in a statement. Offsets are in bytes of UTF-8. */
export interface ScannedStatement {
  readonly references: readonly Reference[];
  /** The end of its last token. */
  readonly end: number;
  /** Its quoted texts and its comments. A `:name` in them is no parameter, which authors may not know. */
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
  /** The parameter at fault; absent if the SQL is. */
  readonly param?: string;
  readonly message: string;
  readonly detail?: string;
}

export type TemplateResult =
  | { readonly ok: true; readonly template: Template }
  | { readonly ok: false; readonly faults: readonly ParameterFault[] };

/** Every reference must be declared, and every declared parameter must be used. */
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

/** The text of a dialect for one reference. */
export interface WrittenPlaceholder {
  readonly text: string;
  /** The offset of the parameter itself in `text`, in bytes; 0 if absent. */
  readonly offset?: number;
}

export interface FilledTemplate {
  readonly text: string;
  readonly places: readonly Place[];
}

interface Place {
  readonly number: number;
  /** In bytes from the start of `text`. */
  readonly offset: number;
}

/** Replaces each reference by its placeholder. */
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
