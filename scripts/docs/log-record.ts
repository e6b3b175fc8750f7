import { block, code, table } from './markdown.ts';

type TypeName<T> = T extends number
  ? 'number'
  : T extends boolean
    ? 'boolean'
    : T extends readonly unknown[]
      ? 'array'
      : 'string';

/**
 * What a log record says. Types make it complete: every event of the union, and every field of the event with its type and
 * whether it may be absent. The level is proved by a test.
 */
interface RecordDoc<Event extends { readonly event: string }> {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly when: string;
  readonly fields: {
    readonly [Field in Exclude<keyof Event, 'event'>]-?: FieldDoc<
      TypeName<NonNullable<Event[Field]>>,
      Event[Field]
    >;
  };
  /** Without `event`, which is the key of the record. */
  readonly example: Omit<Event, 'event'>;
}

/**
 * `type: meaning`. A field that may be absent has `type?: meaning` if it is absent when there is no value, and
 * `type | absent: meaning` if the meaning says when.
 */
type FieldDoc<Type extends string, Value> = undefined extends Value
  ? `${Type}?: ${string}` | `${Type} | absent: ${string}`
  : `${Type}: ${string}`;

export type RecordDocs<Event extends { readonly event: string }> = {
  readonly [Name in Event['event']]: RecordDoc<Extract<Event, { readonly event: Name }>>;
};

/** Where a listener of either program is bound. */
export const BOUND = {
  address: 'string: The bound address.',
  port: 'number: The bound port; the chosen one for port 0.',
} as const;

/** A listener of either program. */
export const ACCEPT_FAILED = {
  level: 'warn',
  when: 'A connection could not be accepted, mostly because the process may open no more files: raise the limit, and see who holds so many. At most one in a second for each listener, which goes on.',
  fields: {
    address: 'string: The bound address.',
    port: 'number: The bound port.',
    message: 'string: What the operating system said.',
  },
} as const;

/** The same without the types of the events. */
export interface AnyRecordDoc {
  readonly level: string;
  readonly when: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly example: object;
}

/** The example of each record. */
export function exampleEvents<Event extends { readonly event: string }>(
  docs: RecordDocs<Event>,
): readonly Event[] {
  const records: Readonly<Record<string, AnyRecordDoc>> = docs;
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the key and the example are those of one event
  return Object.entries(records).map(([event, { example }]) => ({ event, ...example }) as Event);
}

const EXAMPLE_TIME = '2025-06-30T12:00:00.000Z';

export function renderRecords(docs: Readonly<Record<string, AnyRecordDoc>>, anchor: string): string {
  return Object.entries(docs)
    .map(([event, { level, when, fields, example }]) => {
      const rows = Object.entries(fields).map(([name, field]) => {
        const [, type = '', absence, meaning = ''] = /^(\w+)(\?| \| absent)?: (.*)$/.exec(field) ?? [];
        return [code(name), type, absence === '?' ? `${meaning} Absent when there is none.` : meaning];
      });
      const line = JSON.stringify({ time: EXAMPLE_TIME, level, event, ...example });
      const parts = [`### \`${event}\``, `<a id="${anchor}-${event}"></a>Level ${code(level)}. ${when}`];
      if (rows.length > 0) parts.push(table(['Field', 'Type', 'Meaning'], rows));
      return [...parts, block('jsonl', line)].join('\n\n');
    })
    .join('\n\n');
}
