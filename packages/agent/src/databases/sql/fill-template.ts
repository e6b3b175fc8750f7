import type { Template } from './create-template.ts';

/** What a dialect writes in place of one reference. */
export interface WrittenPlaceholder {
  readonly text: string;
  /** Where in `text` the parameter itself begins, in bytes. */
  readonly offset: number;
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
    const { text, offset } = write(placeholder);
    places.push({ number: placeholder.number, offset: length + offset });
    push(Buffer.from(text));
  }
  return { text: Buffer.concat(filled).toString('utf8'), places };
}
