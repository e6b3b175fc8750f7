export type Stream = 'stdout' | 'stderr';

/** What a process writes, as lines that can be waited for. */
export interface LineLog {
  add(stream: Stream, text: string): void;
  /** Nothing more will come. */
  end(): void;
  waitFor(matches: (line: string, stream: Stream) => boolean, withinMs: number, who: string): Promise<string>;
  text(stream?: Stream): string;
}

interface Line {
  readonly stream: Stream;
  readonly text: string;
}

const maxLines = 10_000;
const tailLines = 30;

export function createLineLog(): LineLog {
  const lines: Line[] = [];
  const unfinished: Record<Stream, string> = { stdout: '', stderr: '' };
  const listeners = new Set<{ line(line: Line): void; end(): void }>();
  let ended = false;

  const append = (line: Line): void => {
    lines.push(line);
    if (lines.length > maxLines) lines.shift();
    for (const listener of listeners) listener.line(line);
  };
  const text = (stream?: Stream): string =>
    lines
      .filter((line) => stream === undefined || line.stream === stream)
      .map((line) => `${line.text}\n`)
      .join('') + (stream === undefined ? unfinished.stdout + unfinished.stderr : unfinished[stream]);
  const tail = (): string => text().trimEnd().split('\n').slice(-tailLines).join('\n');

  return {
    text,
    add: (stream, chunk) => {
      const parts = (unfinished[stream] + chunk).split('\n');
      unfinished[stream] = parts.pop() ?? '';
      for (const part of parts) append({ stream, text: part.endsWith('\r') ? part.slice(0, -1) : part });
    },
    end: () => {
      if (ended) return;
      ended = true;
      for (const stream of ['stdout', 'stderr'] as const) {
        if (unfinished[stream] !== '') append({ stream, text: unfinished[stream] });
        unfinished[stream] = '';
      }
      for (const listener of listeners) listener.end();
    },
    waitFor: (matches, withinMs, who) => {
      const known = lines.find((line) => matches(line.text, line.stream));
      if (known !== undefined) return Promise.resolve(known.text);
      return new Promise((resolve, reject) => {
        const settle = (act: () => void): void => {
          clearTimeout(timer);
          listeners.delete(listener);
          act();
        };
        const fail = (why: string): void =>
          settle(() =>
            reject(new Error(`cannot wait for a line of ${who}: ${why}; its output ends:\n${tail()}`)),
          );
        const listener = {
          line: (line: Line): void => {
            if (matches(line.text, line.stream)) settle(() => resolve(line.text));
          },
          end: (): void => fail('it ended'),
        };
        const timer = setTimeout(() => fail(`none came within ${withinMs} ms`), withinMs);
        listeners.add(listener);
        if (ended) listener.end();
      });
    },
  };
}
