import type { ConsoleToken } from './create-console-token.ts';

/** What `create-console-token` prints: text that says where each value goes, or exactly one JSON object. */
export function renderConsoleToken({ token, sha256 }: ConsoleToken, json: boolean): string {
  if (json) return `${JSON.stringify({ console_token: token, console_token_sha256: sha256 })}\n`;
  return `Token of the console. It is shown only now and stored nowhere; give it to operators:

  ${token}

For the gateway, then restart it:

  GATEWAY_CONSOLE_ADDR=127.0.0.1:9091
  GATEWAY_CONSOLE_TOKEN_SHA256=${sha256}

Open the console on that machine, or over ssh -L 9091:127.0.0.1:9091; the token goes to no server:

  http://127.0.0.1:9091/console/#token=${token}
`;
}
