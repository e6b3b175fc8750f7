import { Ajv, type ErrorObject } from 'ajv';
import type { Sliced } from '@svc/edge';
import {
  CAPABILITY_NAME_PATTERN,
  DESCRIBED_MAX,
  JsonError,
  NEED_PATTERN,
  parseStrictJsonInSlices,
  printJsonInSlices,
  type Description,
  type ManifestEntry,
  type ProtocolError,
} from '@svc/protocol';
import { makeOfBytes, noteBytes } from '../catalog/long-descriptions.ts';
import { badDescription } from './agent-session.ts';

const entry = {
  type: 'object',
  properties: {
    name: { type: 'string', pattern: CAPABILITY_NAME_PATTERN },
    exposed: { type: 'boolean' },
    // With the gateway's own margin, it must fit into a timer of Node.js: 2^31-1 milliseconds.
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

// Checking the schema itself, or optimizing its code, would slow down each start.
const ajv = new Ajv({ validateSchema: false, code: { optimize: false } });
const isEntry = ajv.compile<ManifestEntry>(entry);
/** Checks everything except the entries of the manifest. */
const isDescription = ajv.compile<Description>({
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
    manifest: { type: 'array', maxItems: DESCRIBED_MAX },
    identity: {
      type: 'object',
      properties: { max_age: { type: 'integer', minimum: 1, maximum: 2_000_000_000 } },
    },
  },
  required: ['openapi', 'manifest'],
});

const ENTRIES_PER_SLICE = 256;

/** `digest` is that of the bytes. Returns a promise if the description is long. */
export type ReadDescription = (bytes: Uint8Array, digest: string) => Description | Promise<Description>;

/** Like `parseDescription`, but equal bytes become one object while any link uses it: links of agents with one file share it. */
export function createDescriptionReader(): ReadDescription {
  const known = new Map<string, WeakRef<Description>>();
  const underWay = new Map<string, Promise<Description>>();
  const forgotten = new FinalizationRegistry<string>((digest) => {
    if (known.get(digest)?.deref() === undefined) known.delete(digest);
  });

  function keep(description: Description, digest: string): Description {
    known.set(digest, new WeakRef(description));
    forgotten.register(description, digest);
    return description;
  }

  return (bytes, digest) => {
    const before = known.get(digest)?.deref() ?? underWay.get(digest);
    if (before !== undefined) return before;
    const parsed = parseDescription(bytes);
    if (!(parsed instanceof Promise)) return keep(parsed, digest);
    const kept = parsed
      .then((description) => keep(description, digest))
      .finally(() => underWay.delete(digest));
    underWay.set(digest, kept);
    return kept;
  };
}

/**
 * Reads the answer of the meta capability, or throws ProtocolError (4422). A long one is read in slices, so that no call
 * waits for it, and its promise rejects instead.
 */
export function parseDescription(bytes: Uint8Array): Description | Promise<Description> {
  return makeOfBytes(bytes.length, parseInSlices(bytes));
}

function* parseInSlices(bytes: Uint8Array): Sliced<Description> {
  let value: unknown;
  try {
    value = yield* parseStrictJsonInSlices(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badDescription(`the description is refused: ${error.message}`);
  }
  yield;
  if (!isDescription(value)) throw malformed('', isDescription.errors?.[0]);
  for (const [index, described] of value.manifest.entries()) {
    if (!isEntry(described)) throw malformed(`/manifest/${index}`, isEntry.errors?.[0]);
    if (index % ENTRIES_PER_SLICE === 0) yield;
  }
  noteBytes(value, bytes.length);
  return value;
}

/** Prints JSON that is parsed to an equal description. */
export function* printDescription(description: Description): Sliced<Uint8Array> {
  const pieces: Buffer[] = [];
  yield* printJsonInSlices(description, 3, (text) => void pieces.push(Buffer.from(text)));
  return Buffer.concat(pieces);
}

function malformed(at: string, fault: ErrorObject | undefined): ProtocolError {
  return badDescription(
    `the description is malformed: ${at}${fault?.instancePath ?? ''} ${fault?.message ?? ''}`,
  );
}
