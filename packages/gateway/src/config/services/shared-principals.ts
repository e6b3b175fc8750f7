import type { KeyRecord } from '../../auth/api-keys/key-record.ts';
import { quoted } from '../parse/parsed.ts';

/**
 * Problems of keys of one principal whose capabilities or claims differ: what the caller may do would depend on which of
 * its keys it uses.
 */
export function differingPrincipals(
  records: readonly { readonly place: string; readonly record: KeyRecord }[],
): readonly string[] {
  const first = new Map<string, { readonly place: string; readonly record: KeyRecord }>();
  const problems: string[] = [];
  for (const { place, record } of records) {
    const earlier = first.get(record.principal);
    if (earlier === undefined) {
      first.set(record.principal, { place, record });
      continue;
    }
    const [own, other] = [comparable(record), comparable(earlier.record)];
    const differing = (['capabilities', 'claims'] as const).filter((field) => own[field] !== other[field]);
    if (differing.length === 0) continue;
    problems.push(
      `${place} (${quoted(record.name)}): ${differing.join(' and ')} differ from those of ` +
        `${earlier.place}, another key of principal ${quoted(record.principal)}; ` +
        'accepted: equal capabilities and claims, or a principal of its own',
    );
  }
  return problems;
}

/** Texts that are equal for equal values, in whatever order these were written. */
function comparable({
  capabilities,
  claims,
}: KeyRecord): Readonly<Record<'capabilities' | 'claims', string>> {
  return {
    capabilities: capabilities === '*' ? '*' : [...capabilities].toSorted().join(','),
    claims: JSON.stringify(Object.entries(claims).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}
