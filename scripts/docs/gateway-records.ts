import type { GatewayEvent } from '../../packages/gateway/src/telemetry/events.ts';
import { AUTH_FAILURES } from '../../packages/gateway/src/auth/auth-failure.ts';
import { ACCEPT_FAILED, BOUND, type RecordDocs } from './log-record.ts';
import { code } from './markdown.ts';

const REQUEST_ID = '6f1c2a5e-8a53-4a3e-9f4e-0d6b8a1f2c33';
const CONNECTION = 'a3f0f1de-55b2-4f2e-8f0d-1b7c0a9d4e21';
const INSTANCE = '0b7e6c1d-2f8a-4c7b-9d3e-5a6f7081929a';

const WITH_SERVICES = 'Only with GATEWAY_SERVICES_FILE.';
const WITH_ISSUERS = 'Only with issuers; empty when there is none.';

export const GATEWAY_RECORDS: RecordDocs<GatewayEvent> = {
  listening: {
    level: 'info',
    when: 'The gateway takes requests.',
    fields: {
      url: 'string: The address as a URL.',
      ...BOUND,
    },
    example: { url: 'http://127.0.0.1:8080', address: '127.0.0.1', port: 8080 },
  },
  metrics_listening: {
    level: 'info',
    when: '`GET /metrics` answers; with `GATEWAY_METRICS_ADDR` only.',
    fields: BOUND,
    example: { address: '127.0.0.1', port: 9090 },
  },
  console_listening: {
    level: 'info',
    when: 'The console of operators can be opened; with `GATEWAY_CONSOLE_ADDR` only.',
    fields: {
      url: 'string: Where it is, without its token.',
      ...BOUND,
    },
    example: { url: 'http://127.0.0.1:9091/console/', address: '127.0.0.1', port: 9091 },
  },
  console_token_refused: {
    level: 'warn',
    when: 'Somebody sent a wrong token to the console. From the eleventh in a minute on, a source is answered 429 without a record.',
    fields: { source: 'string: The address that sent it.' },
    example: { source: '192.0.2.7' },
  },
  accept_failed: {
    ...ACCEPT_FAILED,
    example: { address: '127.0.0.1', port: 8080, message: 'accept EMFILE' },
  },
  request: {
    level: 'info',
    when: 'One for each HTTP request, once its answer is decided; for a batch of MCP one for each message in it. An empty string where a value is not known.',
    fields: {
      request_id:
        'string: The `X-Request-Id` of the answer; the same in the log of the agent and in `svc.request_id`.',
      api_key_name: 'string: `name` of the record of the key.',
      capability: 'string: The capability, once the key is known and the name well formed.',
      http_status:
        'number: The status; 101 for an agent that connects, 499 when the connection ended, or an MCP client cancelled the call, before the answer.',
      method: 'string: The HTTP method; empty when what came was not HTTP.',
      service: `string | absent: Whose path it is; empty where that is none, or of no service that there is. ${WITH_SERVICES}`,
      route: 'string: The template of the path, never the path itself.',
      source: 'string: The source address, after trusted proxies.',
      duration_ms: 'number: Milliseconds until the answer was decided.',
      error_code: 'string: The [code](errors.md) of the answer; empty for none.',
      trace_id:
        'string | absent: The trace that the call is part of, recorded or not; empty where its caller is not known, and for other requests. Only with GATEWAY_TRACES.',
      trace_flags:
        'string | absent: `01` where that trace is recorded, `00` where the sampler left it out; empty without one. Only with GATEWAY_TRACES.',
      mcp_method:
        'string?: The [MCP](mcp.md) method of a request to `/mcp`; `unknown` for one that MCP does not know.',
      principal: `string | absent: The caller: \`key:\` and the \`principal\` of the key record, or \`token:\`, the name of the issuer and the subject. This field and those below are present only if GATEWAY_ISSUERS_JSON has an issuer. ${WITH_ISSUERS}`,
      issuer: `string | absent: \`name\` of the record of the issuer of the token. ${WITH_ISSUERS}`,
      subject: `string | absent: \`sub\` of the token; with \`"log_subject": false\` the first 22 characters of its SHA-256 in base64url. ${WITH_ISSUERS}`,
      client_id: `string | absent: \`client_id\`, else \`azp\`, \`cid\` or \`appid\` of the token. ${WITH_ISSUERS}`,
      token_id: `string | absent: \`jti\` of the token. ${WITH_ISSUERS}`,
      auth_failure: `string | absent: Why the credential was not taken: ${AUTH_FAILURES.map(code).join(', ')}. An \`issuer\` beside it means that the signature is good, but for \`issuer_unavailable\`. ${WITH_ISSUERS}`,
    },
    example: {
      request_id: REQUEST_ID,
      api_key_name: 'reports',
      capability: 'find_book',
      http_status: 200,
      method: 'POST',
      route: '/api/v1/capabilities/{name}',
      source: '192.0.2.10',
      duration_ms: 7.412,
      error_code: '',
    },
  },
  agent_connected: {
    level: 'info',
    when: 'An agent has proved itself and described its capabilities; calls go to it from now on.',
    fields: {
      service: `string | absent: The service that its key belongs to. ${WITH_SERVICES}`,
      conn_id: 'string: The name of the connection; the same in the log of the agent.',
      instance_id: 'string: The name of the agent process, new with each start.',
      key_id: 'string: Fingerprint of the public key.',
      source: 'string: Where it connects from.',
      capabilities: 'number: How many capabilities it has.',
    },
    example: {
      conn_id: CONNECTION,
      instance_id: INSTANCE,
      key_id: 'Q1x0PzGm5sVg6m2yQvTn8A',
      source: '198.51.100.7',
      capabilities: 12,
    },
  },
  agent_disconnected: {
    level: 'info',
    when: 'The connection of a connected agent is over.',
    fields: {
      conn_id: 'string: The name of the connection.',
      instance_id: 'string: The name of the agent process.',
      reason: 'string: Why, with the close code where there is one.',
    },
    example: { conn_id: CONNECTION, instance_id: INSTANCE, reason: 'the agent is shutting down (1001)' },
  },
  agent_rejected: {
    level: 'warn',
    when: 'Who asked to be an agent was turned away.',
    fields: {
      source: 'string: Where it came from.',
      reason: 'string: Why. Strangers are not told.',
    },
    example: { source: '198.51.100.7', reason: 'unknown key or bad signature' },
  },
  agent_single_link: {
    level: 'warn',
    when: 'An agent that is too old to hold more than one link has connected where there are several replicas or workers: update it. Once for each process of an agent.',
    fields: {
      conn_id: 'string: The connection.',
      instance_id: 'string: The process of the agent.',
      source: 'string: Where it came from.',
    },
    example: { conn_id: CONNECTION, instance_id: INSTANCE, source: '198.51.100.7' },
  },
  links_short: {
    level: 'warn',
    when: 'An agent that looks for further replicas or workers gets to this process again and again: see how the balancer spreads connections to `/ws/agent`, and whether GATEWAY_REPLICAS is right. Once for each search.',
    fields: {
      instance_id: 'string: The process of the agent.',
      source: 'string: Where it came from.',
      replicas: 'number: How many replicas it was told of.',
      links_per_replica: 'number: How many links to each it was told to hold.',
    },
    example: { instance_id: INSTANCE, source: '198.51.100.7', replicas: 3, links_per_replica: 1 },
  },
  fleet_changed: {
    level: 'info',
    when: 'The name of GATEWAY_REPLICAS has another number of addresses, which the agents are told.',
    fields: {
      replicas: 'number: How many replicas there are.',
      replicas_before: 'number: How many there were.',
    },
    example: { replicas: 3, replicas_before: 2 },
  },
  replicas_lookup_failed: {
    level: 'warn',
    when: 'The name of GATEWAY_REPLICAS could not be looked up, or has no address. The last count holds, and the name is looked up every 5 s; once until that succeeds.',
    fields: {
      name: 'string: The name.',
      reason: 'string: What is wrong.',
      replicas: 'number: The count that holds.',
    },
    example: { name: 'gateway-agents.svc', reason: 'getaddrinfo EAI_AGAIN gateway-agents.svc', replicas: 3 },
  },
  replicas_lookup_back: {
    level: 'info',
    when: 'The name of GATEWAY_REPLICAS has been looked up again.',
    fields: {
      name: 'string: The name.',
      replicas: 'number: How many addresses it has.',
    },
    example: { name: 'gateway-agents.svc', replicas: 3 },
  },
  descriptions_differ: {
    level: 'warn',
    when: 'Two agents describe one capability differently, once for each difference. The one that connected last counts.',
    fields: {
      capability: 'string: The capability.',
      instance_id: 'string: The agent that connected last, whose description is served.',
      key_id: 'string: Which agent key it has.',
      other_instance_id: 'string: The agent that described it otherwise; it may be away.',
      other_key_id: 'string: Which agent key that one has.',
    },
    example: {
      capability: 'find_book',
      instance_id: INSTANCE,
      key_id: 'Q1x0PzGm5sVg6m2yQvTn8A',
      other_instance_id: '0b8f7f0e-2c1d-4a0b-9d55-1f0c8f0a6e21',
      other_key_id: 'If4x36FUomFia_hUBG_SJw',
    },
  },
  keys_fetched: {
    level: 'info',
    when: 'The keys of an issuer were fetched for the first time, are others than before, or can be fetched again. With 0 `keys`, when every token of the issuer is refused, at level `warn`.',
    fields: {
      issuer: 'string: `name` of the record of the issuer.',
      keys: 'number: Keys that tokens are verified with.',
      left_out: 'number: Keys that are not for signatures, too weak or of an unknown kind.',
    },
    example: { issuer: 'idp', keys: 2, left_out: 1 },
  },
  keys_fetch_failed: {
    level: 'warn',
    when: 'The keys of an issuer could not be fetched; once until they can be again, and once more when those fetched before are given up.',
    fields: {
      issuer: 'string: `name` of the record of the issuer.',
      reason: 'string: What went wrong.',
      keys_serve: 'boolean: Whether keys fetched before serve on; if not, its tokens are answered 503.',
    },
    example: { issuer: 'idp', reason: 'connect ECONNREFUSED 192.0.2.7:443', keys_serve: true },
  },
  shared_limits_lost: {
    level: 'warn',
    when: 'Valkey cannot be reached, refuses or does not answer within 20 ms, at the start or three times in a row: until `shared_limits_back` each gateway keeps its limits alone. It is tried again every second.',
    fields: { message: 'string: What Valkey, or the way to it, said.' },
    example: { message: 'Valkey: connect ECONNREFUSED 192.0.2.7:6379' },
  },
  shared_limits_back: {
    level: 'info',
    when: 'After `shared_limits_lost`, once Valkey answers again: limits hold for all gateways.',
    fields: {},
    example: {},
  },
  keys_revoked: {
    level: 'info',
    when: 'Keys of these ids, for which there are records, are refused from now on: `revoke-key` has put them on the list. At the start those that are there already.',
    fields: { key_ids: 'array: Their `key_id`.' },
    example: { key_ids: ['3cb8a443faa5'] },
  },
  revocations_unknown: {
    level: 'warn',
    when: 'Half a minute after the start the list of revoked keys could still not be read: API keys are let in without it, and a revoked key may be among them. Again each minute until it is read.',
    fields: { message: 'string: What Valkey, or the way to it, said.' },
    example: { message: 'Valkey: connect ECONNREFUSED 192.0.2.7:6379' },
  },
  worker_ended: {
    level: 'warn',
    when: 'With `GATEWAY_WORKERS` above 1: a worker ended that was not asked to. Its calls fail; another one takes its place.',
    fields: {
      worker: 'number: Its number, from 0.',
      signal: 'string: The signal that ended it; empty where it ended by itself.',
      code: 'number: Its exit code; -1 where a signal ended it.',
      restart_in_ms: 'number: When another one is started: 100, up to 5000 while it ends again and again.',
    },
    example: { worker: 1, signal: 'SIGKILL', code: -1, restart_in_ms: 100 },
  },
  keys_reloaded: {
    level: 'info',
    when: 'The file of API keys or of services holds something else, and all of it counts from now on. Names have commas between them; those of a further service begin with it and a slash.',
    fields: {
      services: 'number: How many services there are now.',
      keys: 'number: How many API keys they have.',
      keys_added: 'string?: Names of API keys.',
      keys_changed: 'string?: Names of API keys.',
      keys_removed: 'string?: Names of API keys.',
      agent_keys_added: 'string?: Ids of keys of agents.',
      agent_keys_removed: 'string?: Ids of keys of agents; their links have ended.',
      services_added: 'string?: Services.',
      services_removed: 'string?: Services.',
      issuers_changed: 'string?: Services whose issuers are different.',
    },
    example: { services: 2, keys: 5, keys_added: 'inventory/stocktaking', keys_removed: 'reports' },
  },
  keys_reload_failed: {
    level: 'warn',
    when: 'What a file of API keys or of services holds now cannot be taken, so everything stays as it was. Once for what it holds.',
    fields: {
      faults: 'number: How many there are.',
      message: 'string: Each of them, a line for each.',
    },
    example: {
      faults: 1,
      message:
        'GATEWAY_API_KEYS_FILE: is not JSON since it ends too early, after character 512; accepted: a JSON array of records',
    },
  },
  shutting_down: {
    level: 'info',
    when: 'A signal asks for the end. All is served for GATEWAY_SHUTDOWN_DELAY; then what was accepted is still answered, for at most 25 s.',
    fields: {
      signal: 'string: The signal.',
      in_flight: 'number: Requests accepted and not answered.',
    },
    example: { signal: 'SIGTERM', in_flight: 3 },
  },
  config_warning: {
    level: 'warn',
    when: 'At start: the settings are sound but look unintended.',
    fields: {
      message: 'string: What is odd and what to do; never a value of a setting.',
    },
    example: {
      message: 'GATEWAY_ADRR is not a setting of the gateway and is ignored; did you mean GATEWAY_ADDR?',
    },
  },
  internal_error: {
    level: 'error',
    when: 'A fault of the gateway itself, whose caller got GATEWAY_INTERNAL. Please report it.',
    fields: {
      request_id: 'string: The request; empty outside of one.',
      message: 'string: The fault with its stack.',
    },
    example: { request_id: REQUEST_ID, message: 'Error: ...' },
  },
};
