import { Ajv, type ValidateFunction } from 'ajv';
import { ProtocolError } from '../rules/close-code.ts';
import {
  HANDSHAKE_MESSAGE_MAX_BYTES,
  MAX_INFLIGHT_MAX,
  SERVICE_ID_PATTERN,
  WORKERS_MAX,
} from '../rules/limits.ts';

/** The four messages in their order; JSON text, unknown fields ignored but covered by the signature. */
export interface Hello {
  readonly type: 'hello';
  /** New for each agent process. */
  readonly instance_id: string;
  /** See agentKeyId. */
  readonly key_id: string;
  readonly versions: readonly number[];
  /** 32 bytes, base64url. */
  readonly agent_nonce: string;
  /** Calls that the agent takes at once, running and queued. */
  readonly max_inflight: number;
  /** SHA-256 of the description that the meta capability will answer, hex. */
  readonly manifest_sha256: string;
  /** See normalizeAudience: the gateway as the agent's own configuration names it. */
  readonly audience: string;
  /** Who identifies callers for the agent: tokens that it verifies itself, or the gateway. Absent if nobody. From version 2. */
  readonly identity?: 'token' | 'gateway';
  /** What the agent can do beyond its versions; those that the receiver does not know are ignored. */
  readonly features?: readonly string[];
  /** The service whose calls the agent takes, if its configuration names one. */
  readonly service?: string;
}

export interface Challenge {
  readonly type: 'challenge';
  readonly conn_id: string;
  readonly replica_id: string;
  /** 32 bytes, base64url. */
  readonly gateway_nonce: string;
  readonly version: number;
  readonly limits: { readonly max_params_bytes: number };
  /** Those of the agent's that hold for this connection; absent for an agent that offered none. */
  readonly features?: readonly string[];
  /** Which of the replica's serving processes this is; absent if the agent offered no features. */
  readonly worker?: number;
}

export interface Auth {
  readonly type: 'auth';
  /** 64 bytes, base64url. */
  readonly signature: string;
}

export interface Welcome {
  readonly type: 'welcome';
  readonly replica_count: number;
  /** How many links the agent holds to each replica, each to another worker; absent if the agent offered no features. */
  readonly links_per_replica?: number;
}

// Checking our own schemas, and making quicker code of them for the few messages of a link, would take time for nothing.
const ajv = new Ajv({ validateSchema: false, code: { optimize: false } });
const id = { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' };
const bytes32 = { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' };
const count = { type: 'integer', minimum: 1, maximum: 1_000_000 };
const features = { type: 'array', items: id, maxItems: 16 };

const schemas = {
  hello: {
    instance_id: id,
    key_id: id,
    versions: { type: 'array', items: count, minItems: 1, maxItems: 16 },
    agent_nonce: bytes32,
    max_inflight: { ...count, maximum: MAX_INFLIGHT_MAX },
    manifest_sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    audience: { type: 'string', minLength: 1, maxLength: 1024 },
  },
  challenge: {
    conn_id: id,
    replica_id: id,
    gateway_nonce: bytes32,
    version: count,
    limits: {
      type: 'object',
      properties: { max_params_bytes: { type: 'integer', minimum: 1, maximum: 0xffff_ffff } },
      required: ['max_params_bytes'],
    },
  },
  auth: { signature: { type: 'string', pattern: '^[A-Za-z0-9_-]{86}$' } },
  welcome: { replica_count: count },
};

const optional = {
  hello: {
    identity: { enum: ['token', 'gateway'] },
    features,
    service: { type: 'string', pattern: SERVICE_ID_PATTERN },
  },
  challenge: { features, worker: { type: 'integer', minimum: 0, maximum: WORKERS_MAX - 1 } },
  auth: {},
  welcome: { links_per_replica: count },
};

function parser<T>(type: keyof typeof schemas): (raw: Uint8Array) => T {
  const required = { type: { const: type }, ...schemas[type] };
  const properties = { ...required, ...optional[type] };
  // Not when the module is loaded: most commands make no link.
  let matches: ValidateFunction<T> | undefined;
  return (raw) => {
    if (raw.length > HANDSHAKE_MESSAGE_MAX_BYTES) throw new ProtocolError(`${type}: larger than 4 KiB`);
    const message = parseJson(raw, type);
    matches ??= ajv.compile<T>({ type: 'object', properties, required: Object.keys(required) });
    if (!matches(message)) {
      const [error] = matches.errors ?? [];
      throw new ProtocolError(`${type}: ${error?.instancePath ?? ''} ${error?.message ?? 'is malformed'}`);
    }
    return message;
  };
}

function parseJson(raw: Uint8Array, type: string): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw));
  } catch {
    throw new ProtocolError(`${type}: is not JSON in UTF-8`);
  }
}

/** Each throws ProtocolError for anything but a well-formed message of its kind. */
export const parseHello: (raw: Uint8Array) => Hello = parser<Hello>('hello');
export const parseChallenge: (raw: Uint8Array) => Challenge = parser<Challenge>('challenge');
export const parseAuth: (raw: Uint8Array) => Auth = parser<Auth>('auth');
export const parseWelcome: (raw: Uint8Array) => Welcome = parser<Welcome>('welcome');
