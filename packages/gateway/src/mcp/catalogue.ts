import { createHash } from 'node:crypto';
import type { Description } from '@svc/protocol';
import { permits } from '../calls/permission.ts';
import type { KeyRecord, Permission } from '../keys/key-record.ts';
import { RPC, RpcError } from './rpc-error.ts';
import { toolsOf, type Tool } from './tool.ts';

/** What one key sees of the tools. */
export interface Page {
  /** JSON array. */
  readonly tools: Uint8Array;
  /** Asks for the next page; undefined on the last. */
  readonly nextCursor: string | undefined;
}

/** Throws RpcError -32602 for a cursor that was not given to this key, or not for these tools. */
export type ListTools = (description: Description, key: KeyRecord, cursor: unknown) => Page;

const PAGE_SIZE = 200;
const CURSOR_LENGTH = 22;

interface Catalogue {
  readonly tools: readonly Tool[];
  /** Changes with any of the tools. */
  readonly digest: Buffer;
  readonly pages: Map<Permission, readonly Uint8Array[]>;
}

/** Pages are made once for a description and what a key may call: keys live as long as the process. */
export function createListTools(): ListTools {
  const catalogues = new WeakMap<Description, Catalogue>();
  return (description, key, cursor) => {
    const catalogue = catalogues.get(description) ?? createCatalogue(description);
    catalogues.set(description, catalogue);
    const pages = catalogue.pages.get(key.capabilities) ?? createPages(catalogue.tools, key.capabilities);
    catalogue.pages.set(key.capabilities, pages);
    const index = pageIndex(cursor, pages.length, (page) => cursorOf(catalogue, key, page));
    const [tools, next] = pages.slice(index, index + 2);
    if (tools === undefined) throw new RpcError(RPC.invalidParams, 'the cursor is not valid; list anew');
    return { tools, nextCursor: next === undefined ? undefined : cursorOf(catalogue, key, index + 1) };
  };
}

function createCatalogue(description: Description): Catalogue {
  const tools = toolsOf(description);
  const digest = createHash('sha256');
  for (const { json } of tools) digest.update(json);
  return { tools, digest: digest.digest(), pages: new Map() };
}

function createPages(tools: readonly Tool[], permission: Permission): readonly Uint8Array[] {
  const visible = tools.filter(({ name }) => permits(permission, name)).map(({ json }) => json);
  const pages: Uint8Array[] = [];
  do pages.push(Buffer.from(`[${visible.splice(0, PAGE_SIZE).join(',')}]`));
  while (visible.length > 0);
  return pages;
}

/** `pages` when no page has this cursor. Clients may send null for the first. */
function pageIndex(cursor: unknown, pages: number, cursorOfPage: (page: number) => string): number {
  if (cursor === undefined || cursor === null) return 0;
  for (let page = 1; page < pages; page++) if (cursorOfPage(page) === cursor) return page;
  return pages;
}

/** The same in every gateway that serves these tools and keys, so that any of them can go on. */
function cursorOf({ digest }: Catalogue, key: KeyRecord, page: number): string {
  const hash = createHash('sha256').update(digest).update(`${key.name}\n${page}`);
  return hash.digest('base64url').slice(0, CURSOR_LENGTH);
}
