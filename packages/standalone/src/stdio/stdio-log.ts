import { openSync } from 'node:fs';
import { createJsonLines, createOutputSink, readProblem, type JsonLines } from '@svc/edge';
import type { AgentEvent } from '@svc/agent';
import type { RequestRecord } from './serve-messages.ts';

const NEW_FILE_MODE = 0o600;

export interface StdioLog {
  readonly problem?: string;
  request(request: RequestRecord, keyName: string): void;
  call(event: AgentEvent): void;
  close(): Promise<void>;
}

/** The file of `--log`, to which several processes may append. */
export function openStdioLog(file: string | undefined): StdioLog {
  if (file === undefined) return SILENT;
  let lines: JsonLines;
  try {
    const descriptor = openSync(file, 'a', NEW_FILE_MODE);
    const say = (line: string): unknown => process.stderr.write(`svc: ${line}\n`);
    const sink = createOutputSink({
      descriptor,
      colour: false,
      onBroken: ({ message }) =>
        say(`cannot write ${file}: ${message}; records wait in memory, up to 16 MiB`),
      onRecovered: () => say(`${file} is written again`),
    });
    lines = createJsonLines(sink);
  } catch (error) {
    return { ...SILENT, problem: `cannot open ${file}, which --log names: ${readProblem(error)}` };
  }
  return {
    request({ requestId, log, durationMs }, keyName) {
      const record = {
        event: 'request',
        ...(log.mcpMethod === '' ? {} : { mcp_method: log.mcpMethod }),
        request_id: requestId,
        api_key_name: keyName,
        capability: log.capability,
        http_status: '',
        method: 'stdio',
        route: 'stdio',
        source: '',
        duration_ms: Math.round(durationMs * 1000) / 1000,
        error_code: log.errorCode,
      };
      lines.write('info', record, false);
    },
    call: (event) => lines.write('info', event, false),
    close: async () => void (await lines.close()),
  };
}

const SILENT: StdioLog = { request() {}, call() {}, close: async () => {} };
