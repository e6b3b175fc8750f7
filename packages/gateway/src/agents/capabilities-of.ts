import type { Description, ManifestEntry } from '@svc/protocol';

const known = new WeakMap<Description['manifest'], ReadonlyMap<string, ManifestEntry>>();

/** The entries of a manifest by their names: one map for all links that share the description. */
export function capabilitiesOf(manifest: Description['manifest']): ReadonlyMap<string, ManifestEntry> {
  const made = known.get(manifest) ?? new Map(manifest.map((entry) => [entry.name, entry]));
  known.set(manifest, made);
  return made;
}
