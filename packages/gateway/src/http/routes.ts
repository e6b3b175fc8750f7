import { CAPABILITY_PATH_PREFIX, DEFAULT_SERVICE } from '@svc/protocol';

interface Common {
  readonly template: string;
  readonly methods: readonly string[];
  /** Whose path it is, whether there is such a service or not; undefined for those of the gateway itself. */
  readonly service: string | undefined;
}

/** Where a request leads. `template` is what the log says; methods are what `Allow` says. */
export type Route =
  | (Common & { readonly kind: 'call'; readonly capability: string })
  | (Common & { readonly kind: 'mcp' | 'openapi' | 'health' | 'ready' | 'agent' | 'metadata' | 'console' });

const READ = ['GET', 'HEAD'];
const CALL_TEMPLATE = '/api/v1/capabilities/{name}';
const CALL_METHODS = ['POST'];
const MCP: Route = { kind: 'mcp', template: '/mcp', methods: ['POST'], service: DEFAULT_SERVICE };

/** By their paths. */
export type Routes = ReadonlyMap<string, Route>;

/** `target` as it stands in the request line; undefined for an unknown path. */
export type FindRoute = (target: string) => Route | undefined;

const OPENAPI: Route = {
  kind: 'openapi',
  template: '/openapi.json',
  methods: READ,
  service: DEFAULT_SERVICE,
};
const READY: Route = { kind: 'ready', template: '/readyz', methods: READ, service: undefined };

/** Every path but those of calls. */
export const FIXED_ROUTES: Routes = new Map<string, Route>([
  ['/mcp', MCP],
  // Never a redirect: clients drop the key when they follow one.
  ['/mcp/', MCP],
  ['/openapi.json', OPENAPI],
  ['/healthz', { kind: 'health', template: '/healthz', methods: READ, service: undefined }],
  ['/readyz', READY],
  ['/ws/agent', { kind: 'agent', template: '/ws/agent', methods: ['GET'], service: undefined }],
]);

const SERVICE_PREFIX = '/s/';
/** What stands before the paths of a service in its templates. */
export const SERVICE_TEMPLATE = '/s/{service}';
/** Behind that, besides calls. */
const SERVICE_ROUTES: Routes = new Map([
  ['/mcp', MCP],
  ['/mcp/', MCP],
  ['/openapi.json', OPENAPI],
  ['/readyz', READY],
]);

export interface FurtherRoutes {
  /** What else there is depends on the configuration: it is looked for last. */
  readonly find: (path: string) => Route | undefined;
  /** Whether services have paths of their own. */
  readonly ofServices: boolean;
  /** The path of the public URL, without a slash at its end: a proxy may leave it before every path, or take it away. */
  readonly basePath: string;
}

export function createFindRoute(
  { find, ofServices, basePath }: FurtherRoutes = { find: () => undefined, ofServices: false, basePath: '' },
): FindRoute {
  function routeOf(path: string): Route | undefined {
    if (path.startsWith(CAPABILITY_PATH_PREFIX)) return callRoute(path, CALL_TEMPLATE, DEFAULT_SERVICE);
    const fixed = FIXED_ROUTES.get(path);
    if (fixed !== undefined) return fixed;
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

/** Of a service that may not exist: whether it does, nobody learns before it is known who asks. */
function serviceRoute(path: string): Route | undefined {
  const end = path.indexOf('/', SERVICE_PREFIX.length);
  if (end <= SERVICE_PREFIX.length) return undefined;
  const service = path.slice(SERVICE_PREFIX.length, end);
  const rest = path.slice(end);
  if (rest.startsWith(CAPABILITY_PATH_PREFIX)) {
    return callRoute(rest, `${SERVICE_TEMPLATE}${CALL_TEMPLATE}`, service);
  }
  const route = SERVICE_ROUTES.get(rest);
  return route && { ...route, template: `${SERVICE_TEMPLATE}${route.template}`, service };
}
