import { errorText } from '@svc/edge';

const TIMEOUT_MS = 30_000;
/** Many times the size for a thousand capabilities. */
const MAX_BYTES = 64 * 1024 * 1024;

export async function fetchOpenApi(
  url: URL,
  apiKey: string,
): Promise<{ readonly document: unknown } | { readonly problem: string }> {
  let response: Response;
  let text: string | undefined;
  try {
    response = await fetch(url, {
      headers: { 'X-API-Key': apiKey, Accept: 'application/json' },
      // No other address must get the key.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await textOf(response);
  } catch (error) {
    return { problem: `cannot be fetched: ${reasonOf(error)}` };
  }
  if (response.status >= 300 && response.status < 400)
    return { problem: `leads elsewhere (${response.status}): name the address that it leads to` };
  if (response.status === 401 || response.status === 403)
    return { problem: `refuses the API key (${response.status}): see SVC_API_KEY` };
  if (response.status !== 200) return { problem: `answers ${response.status}${hintFor(response.status)}` };
  if (text === undefined)
    return { problem: `answers more than ${MAX_BYTES / 1024 / 1024} MB${hintFor(404)}` };
  try {
    return { document: JSON.parse(text) as unknown };
  } catch {
    return { problem: `answers no JSON${hintFor(404)}` };
  }
}

/** Undefined if it is too long for a description: the answer of a wrong address may never end. */
async function textOf({ body }: Response): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop ends the answer.
    if (bytes > MAX_BYTES) return undefined;
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error && cause.name === 'TimeoutError'
    ? `no answer within ${TIMEOUT_MS / 1000} s`
    : errorText(cause);
}

function hintFor(status: number): string {
  if (status === 503) return ': no agent is connected';
  return status === 404 ? ': name the `/openapi.json` of a gateway' : '';
}
