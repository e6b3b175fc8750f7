import { Ajv } from 'ajv';
import {
  CAPABILITY_NAME_PATTERN,
  JsonError,
  NEED_PATTERN,
  parseStrictJson,
  type Description,
} from '@svc/protocol';
import { badDescription } from './agent-session.ts';

const entry = {
  type: 'object',
  properties: {
    name: { type: 'string', pattern: CAPABILITY_NAME_PATTERN },
    exposed: { type: 'boolean' },
    // A timer of Node.js holds no more than 2^31-1 milliseconds, our own margin included.
    timeout_ms: { type: 'integer', minimum: 1, maximum: 2_000_000_000 },
    needs: {
      type: 'array',
      items: { type: 'string', pattern: NEED_PATTERN },
      minItems: 1,
      maxItems: 256,
      uniqueItems: true,
    },
    paging: { type: 'object', additionalProperties: { type: 'string' }, minProperties: 1 },
  },
  required: ['name', 'exposed', 'timeout_ms'],
};

// Checking the schema itself first, and making quicker code of it, would slow down each start.
const isDescription = new Ajv({ validateSchema: false, code: { optimize: false } }).compile<Description>({
  type: 'object',
  properties: {
    openapi: {
      type: 'object',
      properties: {
        openapi: { type: 'string' },
        info: {
          type: 'object',
          properties: { title: { type: 'string' }, version: { type: 'string' } },
          required: ['title', 'version'],
        },
        paths: { type: 'object' },
      },
      required: ['openapi', 'info', 'paths'],
    },
    manifest: { type: 'array', items: entry },
    identity: {
      type: 'object',
      properties: { max_age: { type: 'integer', minimum: 1, maximum: 2_000_000_000 } },
    },
  },
  required: ['openapi', 'manifest'],
});

/**
 * As `parseDescription`, but equal bytes become one object for as long as anybody has it: the links of agents with one
 * file share it. `digest` is that of the bytes.
 */
export function createDescriptionReader(): (bytes: Uint8Array, digest: string) => Description {
  const known = new Map<string, WeakRef<Description>>();
  const forgotten = new FinalizationRegistry<string>((digest) => {
    if (known.get(digest)?.deref() === undefined) known.delete(digest);
  });
  return (bytes, digest) => {
    const before = known.get(digest)?.deref();
    if (before !== undefined) return before;
    const description = parseDescription(bytes);
    known.set(digest, new WeakRef(description));
    forgotten.register(description, digest);
    return description;
  };
}

/** The answer of the meta capability; throws ProtocolError (4422) when it is not one. */
export function parseDescription(bytes: Uint8Array): Description {
  let value: unknown;
  try {
    value = parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badDescription(`the description is refused: ${error.message}`);
  }
  if (isDescription(value)) return value;
  const [fault] = isDescription.errors ?? [];
  throw badDescription(`the description is malformed: ${fault?.instancePath ?? ''} ${fault?.message ?? ''}`);
}
