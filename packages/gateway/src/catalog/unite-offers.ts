import { createHash } from 'node:crypto';
import type { Sliced } from '@svc/edge';
import { printJsonInSlices, type Description, type ManifestEntry } from '@svc/protocol';
import type { AgentOffer } from './offer.ts';

export interface United {
  readonly description: Description;
  /** Equal for descriptions with equal bytes. */
  readonly version: string;
  /** The offers that it is made of, newest first. */
  readonly sources: string;
}

/**
 * One description of everything that is offered; `previous` itself when its offers are the same. The newest document and
 * the newest description of a capability count. The order of capabilities does not depend on when agents connected: a
 * list that changes with every reconnection would invalidate entity tags and cursors.
 */
export function* uniteOffers(
  newestFirst: readonly AgentOffer[],
  previous: United | undefined,
): Sliced<United | undefined> {
  const distinct = new Map<string, AgentOffer>();
  for (const offer of newestFirst) {
    const source = `${offer.keyId} ${offer.digest}`;
    if (!distinct.has(source)) distinct.set(source, offer);
  }
  const sources = [...distinct.keys()].join('\n');
  if (sources === previous?.sources) return previous;
  const [newest, ...others] = distinct.values();
  if (newest === undefined) return undefined;
  if (others.every(({ digest }) => digest === newest.digest)) {
    return { description: newest.description, version: newest.digest, sources };
  }
  const inPlace = [...distinct].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, offer]) => offer);
  const description = yield* unite(newest.description, inPlace, [...others.toReversed(), newest]);
  const hash = createHash('sha256');
  yield* printJsonInSlices(description, 3, (text) => void hash.update(text));
  return { description, version: hash.digest('hex'), sources };
}

function* unite(
  { openapi }: Description,
  inPlace: readonly AgentOffer[],
  oldestFirst: readonly AgentOffer[],
): Sliced<Description> {
  const manifest = new Map<string, ManifestEntry>();
  const paths = new Map<string, unknown>();
  const components = new Map<string, object>();
  // A Map keeps the place of a key that is set again: the first round gives the places, the second the contents.
  for (const { description } of [...inPlace, ...oldestFirst]) {
    for (const entry of description.manifest) {
      manifest.set(entry.name, entry);
      yield;
    }
    for (const [path, item] of Object.entries(description.openapi.paths)) {
      paths.set(path, item);
      yield;
    }
    // An older agent's paths may refer to components that the newest does not have.
    for (const [section, entries] of entriesOf(description.openapi['components'])) {
      components.set(section, { ...components.get(section), ...Object.fromEntries(entriesOf(entries)) });
    }
  }
  const united: Record<string, unknown> = {};
  for (const [path, item] of paths) {
    united[path] = item;
    yield;
  }
  return {
    openapi: {
      ...openapi,
      paths: united,
      ...(components.size === 0 ? {} : { components: Object.fromEntries(components) }),
    },
    manifest: [...manifest.values()],
  };
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [];
}
