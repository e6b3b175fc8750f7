import { errorText } from '@svc/edge';

const TIMEOUT_MS = 30_000;

/** The document at `url`, or one line on why there is none. */
export async function fetchOpenApi(
  url: URL,
  apiKey: string,
): Promise<{ readonly document: unknown } | { readonly problem: string }> {
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, {
      headers: { 'X-API-Key': apiKey, Accept: 'application/json' },
      // The key is for this address and for no other.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    text = await response.text();
  } catch (error) {
    return { problem: `cannot be fetched: ${reasonOf(error)}` };
  }
  if (response.status >= 300 && response.status < 400)
    return { problem: `leads elsewhere (${response.status}): name the address that it leads to` };
  if (response.status === 401 || response.status === 403)
    return { problem: `refuses the API key (${response.status}): see SVC_API_KEY` };
  if (response.status !== 200) return { problem: `answers ${response.status}${hintFor(response.status)}` };
  try {
    return { document: JSON.parse(text) as unknown };
  } catch {
    return { problem: `answers no JSON${hintFor(404)}` };
  }
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
