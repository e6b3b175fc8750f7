import type { Permissions } from '../core/permission.ts';

/** The one object of all permissions that are equal to these. */
export type SharePermissions = (permissions: Permissions) => Permissions;

/** Tokens can have as many sets as their issuers' grants combine to. */
const REMEMBERED_MAX = 1000;

/** Caches are keyed by the set itself, so equal sets of many keys and tokens must be one object. */
export function createSharePermissions(): SharePermissions {
  const shared = new Map<string, Permissions>();
  return (permissions) => {
    if (permissions === '*') return permissions;
    const names = [...permissions].toSorted().join(',');
    const known = shared.get(names);
    if (known !== undefined) return known;
    if (shared.size >= REMEMBERED_MAX) shared.clear();
    shared.set(names, permissions);
    return permissions;
  };
}
