import { gunzipSync, gzipSync } from 'node:zlib';

/** What `scripts/bundle.mjs` embeds: by name, the page as text and all else gzipped, in base64. */
interface EmbeddedAssets {
  readonly page: string;
  readonly files: Readonly<Record<string, { readonly type: string; readonly gzip: string }>>;
}

export interface Asset {
  readonly type: string;
  readonly gzip: Buffer;
  /** Of what never changes under its name. */
  readonly immutable: boolean;
  readonly plain: () => Buffer;
}

export type FindAsset = (path: string) => Asset | undefined;

export const CONSOLE_PATH = '/console/';

/**
 * Whom the pages are for: `operator` shows what the data endpoints have, `caller` what an API key may, `author` what operators
 * see and the capability file, which `author-alone` has nothing beside.
 */
type Mode = 'operator' | 'caller' | 'author' | 'author-alone';

/** `basePath` stands before the paths that the page names, not before those that are found; it has no slash at its end. */
export function createAssets(embedded: string, mode: Mode, basePath = ''): FindAsset {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- made by the build
  const { page, files } = JSON.parse(embedded) as EmbeddedAssets;
  const html = gzipSync(
    page.replace('{{mode}}', mode).replaceAll('"/console/', () => `"${basePath}/console/`),
  );
  const assets = new Map<string, Asset>([
    [CONSOLE_PATH, assetOf('text/html; charset=utf-8', html, false)],
    ...Object.entries(files).map(
      ([name, { type, gzip }]) =>
        [`${CONSOLE_PATH}${name}`, assetOf(type, Buffer.from(gzip, 'base64'), true)] as const,
    ),
  ]);
  return (path) => assets.get(path);
}

function assetOf(type: string, gzip: Buffer, immutable: boolean): Asset {
  let plain: Buffer | undefined;
  return { type, gzip, immutable, plain: () => (plain ??= gunzipSync(gzip)) };
}

/** Of an answer with the asset; first how long it holds. */
export function assetHeaders({ type, immutable }: Asset, compressed: boolean): readonly string[] {
  return [
    'Cache-Control',
    immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    'Content-Type',
    type,
    'Vary',
    'Accept-Encoding',
    ...(compressed ? ['Content-Encoding', 'gzip'] : []),
  ];
}
