import { AGENT_RECORDS } from './agent-records.ts';
import { fieldTable } from './capability-file.ts';
import { PROGRAM as AGENT } from '../../packages/agent/src/cli/program.ts';
import { PROGRAM as GATEWAY } from '../../packages/gateway/src/cli/program.ts';
import { PROGRAM as STANDALONE } from '../../packages/standalone/src/cli/program.ts';
import { commandList } from './commands.ts';
import { closeCodeTable, errorTable, linkCodeTable } from './errors.ts';
import { GATEWAY_RECORDS } from './gateway-records.ts';
import { renderRecords } from './log-record.ts';
import { block } from './markdown.ts';
import { AGENT_METRICS, bucketList, GATEWAY_METRICS, metricTable } from './metrics.ts';
import { settingsExample, settingsTable } from './settings.ts';
import { constraintTable, formatList, paramTypeTable, resultTypeTable } from './values.ts';

/** The parts of the reference that are made by machine: by document, by the name between its markers. */
export const PARTS: Readonly<Record<string, Readonly<Record<string, () => string>>>> = {
  'docs/reference/settings.md': {
    settings: settingsTable,
    example: () => block('ini', settingsExample()),
  },
  'docs/reference/capability-file.md': {
    service: () => fieldTable('service'),
    gateway: () => fieldTable('gateway'),
    database: () => fieldTable('database'),
    databases: () => fieldTable('databases'),
    runtime: () => fieldTable('runtime'),
    defaults: () => fieldTable('defaults'),
    identity: () => fieldTable('identity'),
    logging: () => fieldTable('logging'),
    metrics: () => fieldTable('metrics'),
    telemetry: () => fieldTable('telemetry'),
    capabilities: () =>
      fieldTable('capabilities', [
        'capabilities.<name>.params.<param>',
        'capabilities.<name>.result.<field>',
        'capabilities.<name>.examples[]',
      ]),
    params: () => fieldTable('capabilities.<name>.params.<param>'),
    results: () => fieldTable('capabilities.<name>.result.<field>'),
    examples: () => fieldTable('capabilities.<name>.examples[]'),
    'param-types': paramTypeTable,
    constraints: constraintTable,
    formats: formatList,
    'result-types': resultTypeTable,
  },
  'docs/reference/commands.md': {
    gateway: () => commandList(GATEWAY),
    agent: () => commandList(AGENT),
    standalone: () => commandList(STANDALONE),
  },
  'docs/reference/errors.md': {
    errors: errorTable,
    'link-codes': linkCodeTable,
    'close-codes': closeCodeTable,
  },
  'docs/reference/metrics.md': {
    gateway: () => metricTable(GATEWAY_METRICS),
    agent: () => metricTable(AGENT_METRICS),
    buckets: bucketList,
  },
  'docs/reference/logs.md': {
    gateway: () => renderRecords(GATEWAY_RECORDS, 'gateway'),
    agent: () => renderRecords(AGENT_RECORDS, 'agent'),
  },
};
