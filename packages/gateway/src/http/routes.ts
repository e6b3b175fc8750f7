import { CAPABILITY_PATH_PREFIX, DEFAULT_SERVICE } from '@svc/protocol';

interface Common {
  readonly template: string;
  readonly methods: readonly string[];
  /** The service of the path, which may not exist; undefined for paths of the gateway itself. */
  readonly service: string | undefined;
}

/** Where a request leads. `template` is what the log says; methods are what `Allow` says. */
export type Route =
  | (Common & { readonly kind: 'call'; readonly capability: string })
  | (Common & { readonly kind: 'mcp' | 'openapi' | 'health' | 'ready' | 'agent' | 'metadata' | 'console' });

const READ = ['GET', 'HEAD'];
const CALL_TEMPLATE = '/api/v1/capabilities/{name}';
const CALL_METHODS = ['POST'];

export type Routes = ReadonlyMap<string, Route>;

/** `target` as it stands in the request line; undefined for an unknown path. */
export type FindRoute = (target: string) => Route | undefined;

const MCP: Route = { kind: 'mcp', template: '/mcp', methods: ['POST'], service: DEFAULT_SERVICE };
const OPENAPI = '/openapi.json';

export const FIXED_ROUTES: Routes = new Map<string, Route>([
  ['/mcp', MCP],
  // Never a redirect: clients drop the key when they follow one.
  ['/mcp/', MCP],
  [OPENAPI, { kind: 'openapi', template: OPENAPI, methods: READ, service: DEFAULT_SERVICE }],
  ['/healthz', { kind: 'health', template: '/healthz', methods: READ, service: undefined }],
  ['/readyz', { kind: 'ready', template: '/readyz', methods: READ, service: undefined }],
  ['/ws/agent', { kind: 'agent', template: '/ws/agent', methods: ['GET'], service: undefined }],
]);

const SERVICE_PREFIX = '/s/';
export const SERVICE_TEMPLATE = '/s/{service}';
/** The fixed paths that each service has, besides those of calls. */
const SERVICE_PATHS: ReadonlySet<string> = new Set(['/mcp', '/mcp/', OPENAPI, '/readyz']);

export interface FurtherRoutes {
  /** Paths that depend on the configuration; looked up last. */
  readonly find: (path: string) => Route | undefined;
  readonly ofServices: boolean;
  /** Whether agents connect to this process. */
  readonly takesAgents: boolean;
  /** The path of the public URL, without a slash at its end: a proxy may leave it before every path, or take it away. */
  readonly basePath: string;
}

export function createFindRoute(
  { find, ofServices, takesAgents, basePath }: FurtherRoutes = {
    find: () => undefined,
    ofServices: false,
    takesAgents: true,
    basePath: '',
  },
): FindRoute {
  function routeOf(path: string): Route | undefined {
    if (path.startsWith(CAPABILITY_PATH_PREFIX)) return callRoute(path, CALL_TEMPLATE, DEFAULT_SERVICE);
    const fixed = FIXED_ROUTES.get(path);
    if (fixed !== undefined) return fixed.kind === 'agent' && !takesAgents ? undefined : fixed;
    return ofServices && path.startsWith(SERVICE_PREFIX) ? serviceRoute(path) : find(path);
  }

  return (target) => {
    const query = target.indexOf('?');
    const path = query < 0 ? target : target.slice(0, query);
    const route = routeOf(path);
    if (route !== undefined || basePath === '' || !path.startsWith(`${basePath}/`)) return route;
    return routeOf(path.slice(basePath.length));
  };
}

function callRoute(path: string, template: string, service: string): Route | undefined {
  const capability = path.slice(CAPABILITY_PATH_PREFIX.length);
  if (capability === '' || capability.includes('/')) return undefined;
  return { kind: 'call', template, methods: CALL_METHODS, service, capability };
}

/** The service may not exist: callers learn that only after they are authenticated. */
function serviceRoute(path: string): Route | undefined {
  const end = path.indexOf('/', SERVICE_PREFIX.length);
  if (end <= SERVICE_PREFIX.length) return undefined;
  const service = path.slice(SERVICE_PREFIX.length, end);
  const rest = path.slice(end);
  if (rest.startsWith(CAPABILITY_PATH_PREFIX)) {
    return callRoute(rest, `${SERVICE_TEMPLATE}${CALL_TEMPLATE}`, service);
  }
  const route = SERVICE_PATHS.has(rest) ? FIXED_ROUTES.get(rest) : undefined;
  return route && { ...route, template: `${SERVICE_TEMPLATE}${route.template}`, service };
}
