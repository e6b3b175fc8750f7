import type { GatewayEvent } from '../../packages/gateway/src/telemetry/events.ts';
import type { RecordDocs } from './log-record.ts';

type ConsoleEvent = Extract<GatewayEvent, { event: `console_${string}` }>;

export const CONSOLE_RECORDS: RecordDocs<ConsoleEvent> = {
  console_listening: {
    level: 'info',
    when: 'The console of operators can be opened; with `GATEWAY_CONSOLE_ADDR` only.',
    fields: {
      url: { type: 'string', meaning: 'Where it is, without its token.' },
      address: { type: 'string', meaning: 'The bound address.' },
      port: { type: 'number', meaning: 'The bound port; the chosen one for port 0.' },
    },
    example: {
      event: 'console_listening',
      url: 'http://127.0.0.1:9091/console/',
      address: '127.0.0.1',
      port: 9091,
    },
  },
  console_token_refused: {
    level: 'warn',
    when: 'Somebody sent a wrong token to the console. From the eleventh in a minute on, a source is answered 429 without a record.',
    fields: { source: { type: 'string', meaning: 'The address that sent it.' } },
    example: { event: 'console_token_refused', source: '192.0.2.7' },
  },
};
