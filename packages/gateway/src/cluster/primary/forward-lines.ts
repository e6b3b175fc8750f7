import type { Readable } from 'node:stream';

/** Longer than any line that a worker writes. */
const LINE_MAX_CHARACTERS = 1024 * 1024;

/**
 * Forwards what a worker writes in whole lines, because several writers of one output would tear each other's lines. After
 * `forward` returns false the worker keeps the rest until `whenSpace`. The unfinished line of a killed worker is dropped.
 */
export function forwardLines(
  from: Readable,
  forward: (lines: string) => boolean,
  whenSpace: (listener: () => void) => void,
): void {
  let begun = '';
  from.setEncoding('utf8');
  from.on('data', (text: string) => {
    const end = text.lastIndexOf('\n') + 1;
    const lines = end === 0 ? '' : begun + text.slice(0, end);
    begun = end === 0 ? begun + text : text.slice(end);
    if (begun.length > LINE_MAX_CHARACTERS) begun = '';
    if (lines === '' || forward(lines)) return;
    from.pause();
    whenSpace(() => from.resume());
  });
}
