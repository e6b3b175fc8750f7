import type { Description } from '@svc/protocol';
import { permits, type Permissions } from '../core/permission.ts';
import type { Principal } from '../core/principal.ts';

export type Shows = (capability: string) => boolean;

export type ViewOf<View> = (description: Description, principal: Principal) => View;

interface Views<View> {
  /** What its capabilities need of callers, each once. */
  readonly needs: readonly string[];
  /** By permissions, then by which needs are met. */
  readonly made: Map<Permissions, Map<string, View>>;
  count: number;
}

/** More than there are keys. Callers choose the scopes of their tokens, so they can cause more views. */
const VIEWS_MAX = 200;

/**
 * Makes a view once for a description, a permission set and what is known of the caller. Capabilities that need more of
 * the caller are hidden, since their calls cannot succeed.
 */
export function createViews<View>(make: (description: Description, shows: Shows) => View): ViewOf<View> {
  const byDescription = new WeakMap<Description, Views<View>>();

  function viewsOf(description: Description): Views<View> {
    const known = byDescription.get(description);
    if (known !== undefined) return known;
    const needs = [...new Set(description.manifest.flatMap(({ needs: own = [] }) => own))];
    const views = { needs, made: new Map<Permissions, Map<string, View>>(), count: 0 };
    byDescription.set(description, views);
    return views;
  }

  return (description, principal) => {
    const views = viewsOf(description);
    const { permissions } = principal;
    const met = views.needs.filter((need) => meets(principal, need));
    const key = met.length === 0 ? '' : met.join(' ');
    const known = views.made.get(permissions)?.get(key);
    if (known !== undefined) return known;
    if (views.count >= VIEWS_MAX) {
      views.made.clear();
      views.count = 0;
    }
    const hidden = hiddenFrom(description, new Set(met));
    const view = make(description, (name) => permits(permissions, name) && !hidden.has(name));
    const ofPermissions = views.made.get(permissions) ?? new Map<string, View>();
    views.made.set(permissions, ofPermissions.set(key, view));
    views.count++;
    return view;
  };
}

function hiddenFrom({ manifest }: Description, met: ReadonlySet<string>): ReadonlySet<string> {
  const hidden = manifest.filter(({ needs = [] }) => !needs.every((need) => met.has(need)));
  return new Set(hidden.map(({ name }) => name));
}

const CLAIM = 'principal.claims.';

/** Whether the gateway knows of the caller what a `from` of the capability file names. */
function meets(principal: Principal, need: string): boolean {
  if (need.startsWith(CLAIM)) return Object.hasOwn(principal.claims, need.slice(CLAIM.length));
  if (principal.kind === 'api_key') return need === 'principal.key_name';
  switch (need) {
    case 'principal.subject':
    case 'principal.issuer':
      return true;
    case 'principal.client_id':
      return principal.clientId !== '';
    default:
      return false;
  }
}
