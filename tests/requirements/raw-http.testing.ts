import { dial } from '@svc/testkit';

export interface RawAnswer {
  readonly status: number;
  /** Names in lower case, values as they came, repeats kept; in the order of arrival. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The one value of a header; undefined without it. Throws when it is repeated. */
  header(name: string): string | undefined;
  readonly body: string;
}

/** One request on a connection of its own. `head` is the request line and headers but for `Connection: close`. */
export async function speak(
  port: number,
  head: readonly string[],
  body: string | Uint8Array = '',
): Promise<RawAnswer> {
  const connection = await dial(port);
  connection.send(`${[...head, 'Connection: close'].join('\r\n')}\r\n\r\n`);
  if (body.length > 0) connection.send(body);
  return parseAnswer(await connection.ended);
}

/** The first final answer in what a server sent. */
export function parseAnswer(text: string): RawAnswer {
  const [, final = ''] = /^(?:HTTP\/1\.1 100 [^]*?\r\n\r\n)?(HTTP\/1\.1 [^]*)$/.exec(text) ?? [];
  const [head = '', ...rest] = final.split('\r\n\r\n');
  const [statusLine = '', ...lines] = head.split('\r\n');
  const headers = lines.map((line) => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
  });
  return {
    status: Number(statusLine.split(' ')[1]),
    headers,
    header(name) {
      const values = headers.filter(([known]) => known === name.toLowerCase()).map(([, value]) => value);
      if (values.length > 1) throw new Error(`${name} is repeated: ${values.join(' | ')}`);
      return values[0];
    },
    body: rest.join('\r\n\r\n'),
  };
}
