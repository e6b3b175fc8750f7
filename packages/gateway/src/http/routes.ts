import { CAPABILITY_PATH_PREFIX } from '@svc/protocol';

/** Where a request leads. `template` is what the log says; methods are what `Allow` says. */
export type Route =
  | {
      readonly kind: 'call';
      readonly template: string;
      readonly methods: readonly string[];
      readonly capability: string;
    }
  | {
      readonly kind: 'mcp' | 'openapi' | 'health' | 'ready' | 'agent' | 'metadata';
      readonly template: string;
      readonly methods: readonly string[];
    };

const READ = ['GET', 'HEAD'];
const MCP: Route = { kind: 'mcp', template: '/mcp', methods: ['POST'] };

/** By their paths. */
export type Routes = ReadonlyMap<string, Route>;

/** `target` as it stands in the request line; undefined for an unknown path. */
export type FindRoute = (target: string) => Route | undefined;

/** Every path but those of calls. */
export const FIXED_ROUTES: Routes = new Map<string, Route>([
  ['/mcp', MCP],
  // Never a redirect: clients drop the key when they follow one.
  ['/mcp/', MCP],
  ['/openapi.json', { kind: 'openapi', template: '/openapi.json', methods: READ }],
  ['/healthz', { kind: 'health', template: '/healthz', methods: READ }],
  ['/readyz', { kind: 'ready', template: '/readyz', methods: READ }],
  ['/ws/agent', { kind: 'agent', template: '/ws/agent', methods: ['GET'] }],
]);

/** `further` are paths that depend on the configuration. */
export function createFindRoute(further: Routes = new Map()): FindRoute {
  const fixed = new Map([...FIXED_ROUTES, ...further]);
  return (target) => {
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    if (path.startsWith(CAPABILITY_PATH_PREFIX)) {
      const capability = path.slice(CAPABILITY_PATH_PREFIX.length);
      if (capability === '' || capability.includes('/')) return undefined;
      return { kind: 'call', template: '/api/v1/capabilities/{name}', methods: ['POST'], capability };
    }
    return fixed.get(path);
  };
}
