import { block, code, table } from './markdown.ts';

type TypeName<T> = T extends number
  ? 'number'
  : T extends boolean
    ? 'boolean'
    : T extends readonly unknown[]
      ? 'array'
      : 'string';

/**
 * What a log record says. Types make it complete: every event of the union, every field of the event, each with
 * its type and whether it may be absent. The level is proved by a test.
 */
interface RecordDoc<Event extends { readonly event: string }> {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly when: string;
  readonly fields: {
    readonly [Field in Exclude<keyof Event, 'event'>]-?: {
      readonly type: TypeName<Event[Field]>;
      readonly meaning: string;
    } & (undefined extends Event[Field] ? { readonly optional: Optional } : { readonly optional?: never });
  };
  readonly example: Event;
}

export type RecordDocs<Event extends { readonly event: string }> = {
  readonly [Name in Event['event']]: RecordDoc<Extract<Event, { readonly event: Name }>>;
};

/** A text says when it is absent; true stands for "when there is none". */
type Optional = true | string;

/** The same, with the types forgotten. */
export interface AnyRecordDoc {
  readonly level: string;
  readonly when: string;
  readonly fields: Readonly<
    Record<string, { readonly type: string; readonly meaning: string; readonly optional?: Optional }>
  >;
  readonly example: { readonly event: string };
}

const EXAMPLE_TIME = '2025-06-30T12:00:00.000Z';

export function renderRecords(docs: Readonly<Record<string, AnyRecordDoc>>, anchor: string): string {
  return Object.entries(docs)
    .map(([event, { level, when, fields, example }]) => {
      const rows = Object.entries(fields).map(([name, field]) => [
        code(name),
        field.type,
        [field.meaning, field.optional === true ? 'Absent when there is none.' : (field.optional ?? '')]
          .join(' ')
          .trim(),
      ]);
      const line = JSON.stringify({ time: EXAMPLE_TIME, level, ...example });
      const parts = [`### \`${event}\``, `<a id="${anchor}-${event}"></a>Level ${code(level)}. ${when}`];
      if (rows.length > 0) parts.push(table(['Field', 'Type', 'Meaning'], rows));
      return [...parts, block('jsonl', line)].join('\n\n');
    })
    .join('\n\n');
}
