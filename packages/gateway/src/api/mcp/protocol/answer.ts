import { bytesOf, type AnswerPart } from '../../../http/response-writer.ts';
import type { RpcError } from './message.ts';

/** The answer to one message, or to a batch. */
export interface Answer {
  readonly status: number;
  /** Names and values in turn. */
  readonly headers?: readonly string[];
  /** JSON; empty for a notification and a cancelled call. */
  readonly parts: readonly AnswerPart[];
  /** The end of a long answer, made as the caller takes it. */
  readonly rest?: Iterable<Uint8Array> | undefined;
  /** Must be called when the parts need no more memory. */
  readonly release?: (() => void) | undefined;
}

export const ACCEPTED: Answer = { status: 202, parts: [] };

/** `id` and `result` are JSON. */
export function resultAnswer(id: string, result: string, headers: readonly string[] = []): Answer {
  const body = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
  return { status: 200, headers, parts: [Buffer.from(body)] };
}

export function errorAnswer(id: string | undefined, { code, message, data, status }: RpcError): Answer {
  const error = JSON.stringify({ code, message, data });
  const head = id === undefined ? '{"jsonrpc":"2.0"' : `{"jsonrpc":"2.0","id":${id}`;
  return { status, parts: [Buffer.from(`${head},"error":${error}}`)] };
}

const [OPEN, COMMA, CLOSE] = ['[', ',', ']'].map((text) => Buffer.from(text));

export function batchAnswer(answers: readonly Answer[]): Answer {
  const parts = answers.flatMap((answer, at) => [
    at === 0 ? OPEN : COMMA,
    ...answer.parts,
    ...(answer.rest ?? []),
  ]);
  const releases = answers.flatMap(({ release }) => release ?? []);
  return {
    status: 200,
    parts: [...parts, CLOSE].filter((part) => part !== undefined),
    ...(releases.length > 0 && {
      release: () => {
        for (const release of releases) release();
      },
    }),
  };
}

const EVENT = Buffer.from('event: message\ndata: ');
const EVENT_END = Buffer.from('\n\n');
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const BLANK = 0x20;

/** JSON as the one message of an event stream. */
export function* asEventStream(parts: Iterable<AnswerPart>): Generator<Uint8Array, void, undefined> {
  yield EVENT;
  for (const part of parts) yield onOneLine(bytesOf(part));
  yield EVENT_END;
}

/** JSON has line breaks only between tokens, where a blank means the same. */
export function onOneLine(json: Uint8Array): Uint8Array {
  if (!json.includes(LINE_FEED) && !json.includes(CARRIAGE_RETURN)) return json;
  const line = Buffer.from(json);
  for (const wrap of [LINE_FEED, CARRIAGE_RETURN]) {
    for (let at = line.indexOf(wrap); at !== -1; at = line.indexOf(wrap, at + 1)) line[at] = BLANK;
  }
  return line;
}

const REMEMBERED = 100;
const known = new Map<string, boolean>();

/** Whether a client accepts an event stream and no JSON. */
export function wantsEventStream(accept: string | undefined): boolean {
  if (accept === undefined) return false;
  const before = known.get(accept);
  if (before !== undefined) return before;
  const wants = prefersEventStream(accept);
  if (known.size >= REMEMBERED) known.clear();
  known.set(accept, wants);
  return wants;
}

function prefersEventStream(accept: string): boolean {
  if (!accept.toLowerCase().includes('text/event-stream')) return false;
  const ranges = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.split(';').map((piece) => piece.trim()))
    .filter((range) => !range.slice(1).some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)))
    .map(([type]) => type);
  return ranges.includes('text/event-stream') && !ranges.some((type) => JSON_RANGES.has(type ?? ''));
}

const JSON_RANGES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);
