export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** Undefined when the text is not JSON. */
  readonly json: unknown;
}

export interface AskOptions {
  readonly method?: string;
  readonly apiKey?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, unless the headers say something else. */
  readonly body?: string;
  readonly signal?: AbortSignal;
}

export async function ask(url: string, options: AskOptions = {}): Promise<Answer> {
  const { apiKey, headers, ...request } = options;
  const response = await fetch(url, {
    ...request,
    headers: {
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
