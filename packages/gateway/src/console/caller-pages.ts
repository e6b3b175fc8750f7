import { assetHeaders, CONSOLE_PATH, createAssets, SECURITY_HEADERS } from '@svc/edge/console';
import { takesGzip } from '../http/compress.ts';
import type { ServedPaths } from '../http/server.ts';

const READ = ['GET', 'HEAD'];

/** The pages for callers, at the listener of their calls: only files, which get everything they show from the APIs there. */
export function createCallerPages(embedded: string, basePath: string): ServedPaths {
  const find = createAssets(embedded, 'caller', basePath);
  return {
    find: (path) =>
      path === '/console' || find(path) !== undefined
        ? { kind: 'console', template: CONSOLE_PATH, methods: READ, service: undefined }
        : undefined,
    serve(exchange) {
      const [path = ''] = (exchange.request.url ?? '').split('?');
      // The path of the public URL may precede it.
      const asset = find(path.slice(Math.max(0, path.lastIndexOf(CONSOLE_PATH))));
      if (asset === undefined) {
        exchange.send(308, [...SECURITY_HEADERS, 'Location', `${basePath}${CONSOLE_PATH}`], []);
        return;
      }
      const compressed = takesGzip(exchange.request.headers['accept-encoding']);
      exchange.send(
        200,
        [...assetHeaders(asset, compressed), ...SECURITY_HEADERS],
        [compressed ? asset.gzip : asset.plain()],
      );
    },
  };
}
