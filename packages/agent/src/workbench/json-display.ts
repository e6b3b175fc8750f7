import { clientConfiguration, curlCommand, type Display, type Output } from './display.ts';

/** One JSON object a line for programs; the first is `ready`, `watching` or `refused`. */
export function jsonDisplay(output: Output, showsCalls: boolean): Display {
  const write = (event: string, fields: object): void =>
    void output.write(`${JSON.stringify({ event, time: new Date().toISOString(), ...fields })}\n`);
  return {
    ready({ file, capabilities, url, apiKey, consoleUrl, example }) {
      write('ready', {
        file,
        capabilities,
        url,
        api_key: apiKey,
        console_url: consoleUrl,
        openapi_url: `${url}/openapi.json`,
        mcp_url: `${url}/mcp`,
        mcp: clientConfiguration(url, apiKey),
        ...example,
        ...(example === undefined ? {} : { curl: curlCommand(url, apiKey, example) }),
      });
    },
    watching: ({ consoleUrl, ...watching }) => write('watching', { ...watching, console_url: consoleUrl }),
    accepted({ served, capabilities, asked, added, changed, removed, durationMs }) {
      const lists = { added: namesOf(added), changed: namesOf(changed), removed: namesOf(removed) };
      write(served ? 'served' : 'checked', {
        capabilities,
        checked: asked,
        ...(served ? lists : {}),
        duration_ms: durationMs,
      });
    },
    refused({ faults, servesOn }) {
      write('refused', {
        faults: faults.map(({ path, message, position }) => ({ path, message, ...position })),
        serves_on: servesOn,
      });
    },
    called({ requestId, name, status, durationMs, errorCode, rows, bytes }) {
      if (!showsCalls) return;
      const error = errorCode === '' ? {} : { error_code: errorCode };
      write('call', { request_id: requestId, name, status, duration_ms: durationMs, ...error, rows, bytes });
    },
    note: (message) => write('note', { message }),
  };
}

function namesOf(names: string | undefined): readonly string[] {
  return names === undefined ? [] : names.split(', ');
}
