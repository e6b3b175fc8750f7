import { assetHeaders, CONSOLE_PATH, createAssets, SECURITY_HEADERS } from '@svc/edge/console';
import { takesGzip } from '../http/compress.ts';
import type { ServedPaths } from '../http/server.ts';

const READ = ['GET', 'HEAD'];

/** The pages of callers, at the listener of their calls: nothing but files, which ask the APIs there for all they show. */
export function createCallerPages(embedded: string): ServedPaths {
  const find = createAssets(embedded, 'caller');
  return {
    find: (path) =>
      path === '/console' || find(path) !== undefined
        ? { kind: 'console', template: CONSOLE_PATH, methods: READ, service: undefined }
        : undefined,
    serve(exchange) {
      const [path = ''] = (exchange.request.url ?? '').split('?');
      const asset = find(path);
      if (asset === undefined) {
        exchange.send(308, [...SECURITY_HEADERS, 'Location', CONSOLE_PATH], []);
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
