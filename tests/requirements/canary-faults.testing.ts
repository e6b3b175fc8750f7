import type { Kind } from './canary-marks.testing.ts';
import type { CapabilitySections } from './pair.testing.ts';
import type { MarkedService } from './canary-service.testing.ts';

/** Capability files that cannot start, with secrets in every place where a report could quote them. */
export function faultyFiles(
  secrets: MarkedService,
  privateKey: string,
  agentUrl: string,
): Readonly<Record<string, CapabilitySections | string>> {
  const { connection, capabilities } = secrets;
  const mark = (kind: Kind): string => secrets.mark(kind);
  const good = { database: connection, capabilities };
  const result = { one: { type: 'integer' } };
  const sql = (text: string): object => ({ sql: text, result });
  return {
    'wrong-password': { ...good, database: { ...connection, password: mark('password') } },
    'wrong-database': { ...good, database: { ...connection, name: mark('connection') } },
    'wrong-user': { ...good, database: { ...connection, user: mark('connection') } },
    'wrong-host': { ...good, database: { ...connection, host: `${mark('connection')}.invalid` } },
    'bad-sql': {
      database: connection,
      capabilities: {
        syntax: sql(`select 1 as one frm ${mark('sql')} wher`),
        unknown_table: sql(`select 1 as one from ${mark('sql')}`),
        unknown_column: sql(`select ${mark('sql')} as one`),
        unknown_function: sql(`select ${mark('sql')}(1) as one`),
        undeclared: sql(`select :name as one, '${mark('sql')}'`),
        writing: sql(`delete from ${mark('sql')} returning 1 as one`),
        two: sql(`select 1 as one; drop table ${mark('sql')}`),
        constant: sql(`select '${mark('sql')}'::int as one`),
        volatile: sql(`select length(set_config('${mark('sql')}', '', true)) as one`),
        other_column: sql(`select 1 as ${mark('sql')}`),
      },
    },
    'missing-files': {
      gateway: { url: agentUrl, agent_private_key: privateKey, ca_file: `/${mark('file')}.pem` },
      database: { ...connection, ssl_root_cert: `/${mark('file')}.pem`, password_file: `/${mark('file')}` },
      capabilities,
    },
    'no-shape': {
      gateway: {
        url: `ws://agent:${mark('password')}@127.0.0.1:1/ws/agent?token=${mark('password')}`,
        agent_private_key: `${mark('private_key')}=+/`,
      },
      database: {
        ...connection,
        port: mark('connection'),
        sslmode: mark('connection'),
        max_connections: mark('connection'),
        password: [mark('password')],
        pasword: mark('password'),
      },
      service: { title: [mark('sql')], version: '1' },
      capabilities: {
        wrong_types: {
          sql: { text: mark('sql') },
          params: {
            a: { type: 'integer', default: mark('value') },
            b: { type: 'string', enum: [7, { x: mark('value') }], pattern: `(${mark('value')}` },
          },
          policy: { timeout: mark('value'), max_bytes: mark('value') },
          result,
        },
      },
    },
    'no-yaml': `database:\n  password: "${mark('password')}\n  user: ${mark('connection')}\n bad: [${mark('sql')}\n`,
    'url-as-database': `database: postgres://u:${mark('password')}@${mark('connection')}/d\ncapabilities: ${mark('sql')}\n`,
    'missing-variable': {
      gateway: { url: agentUrl, agent_private_key: `${mark('private_key')}\${NOT_SET_ANYWHERE}` },
      ...good,
    },
  };
}

/** Environments that a gateway cannot start with. */
export function faultyEnvironments(secrets: MarkedService): readonly Readonly<Record<string, string>>[] {
  const mark = (kind: Kind): string => secrets.mark(kind);
  const record = { name: 'x', key_hash: `$2b$10$${mark('api_key')}`, capabilities: ['*'] };
  return [
    {
      GATEWAY_ADDR: 'nowhere',
      GATEWAY_AGENT_PUBLIC_KEY: mark('private_key'),
      GATEWAY_API_KEYS_JSON: `[{"name": "x", "key_hash": "${mark('api_key')}", "key": ${mark('api_key')}`,
      GATEWAY_PUBLIC_URL: `https://user:${mark('password')}@gateway.test`,
      GATEWAY_AGENT_URLS: `wss://user:${mark('password')}@gateway.test/ws/agent`,
      GATEWAY_IP_ALLOW_LIST: 'everyone',
      GATEWAY_API_KEY: mark('api_key'),
      GATEWAY_TLS_CERT_FILE: `/${mark('file')}`,
      GATEWAY_TLS_KEY_FILE: `/${mark('file')}`,
    },
    { GATEWAY_AGENT_PUBLIC_KEY: mark('private_key'), GATEWAY_API_KEYS_JSON: JSON.stringify([record]) },
    {
      GATEWAY_API_KEYS_JSON: JSON.stringify([
        { ...record, name: 7, plaintext: mark('api_key') },
        mark('api_key'),
      ]),
    },
    {
      GATEWAY_TRACES: 'otlp',
      OTEL_EXPORTER_OTLP_ENDPOINT: `https://user:${mark('password')}@collector.test`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization ${mark('password')}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: mark('password'),
      OTEL_EXPORTER_OTLP_CERTIFICATE: `/${mark('file')}`,
    },
  ];
}
