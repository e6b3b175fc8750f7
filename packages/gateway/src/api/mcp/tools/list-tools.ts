import { createHash } from 'node:crypto';
import type { Sliced } from '@svc/edge';
import type { Description } from '@svc/protocol';
import { makeOf } from '../../../catalog/long-descriptions.ts';
import { createViews, type Shows } from '../../../catalog/views.ts';
import type { Principal } from '../../../core/principal.ts';
import { whenKnown } from '../../../core/when-known.ts';
import { RPC, RpcError } from '../protocol/message.ts';
import { toolsOf, type Tool } from './tool.ts';

export interface Page {
  /** A JSON array. */
  readonly tools: Uint8Array;
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/** Throws RpcError -32602 for a cursor that was not given to this principal for these tools. */
export type ListTools = (
  description: Description,
  principal: Principal,
  cursor: unknown,
) => Page | Promise<Page>;

const PAGE_SIZE = 200;
const CURSOR_LENGTH = 22;

interface Catalogue {
  readonly pages: readonly Uint8Array[];
  readonly digest: Buffer;
}

export function createListTools(outputSchemas: boolean = true): ListTools {
  const all = new WeakMap<Description, readonly Tool[]>();

  function* allOf(description: Description): Sliced<readonly Tool[]> {
    const tools = all.get(description) ?? (yield* toolsOf(description, outputSchemas));
    all.set(description, tools);
    return tools;
  }

  const catalogueOf = createViews((description, shows) =>
    makeOf(description, createCatalogue(allOf(description), shows)),
  );

  function pageOf(catalogue: Catalogue, principal: Principal, cursor: unknown): Page {
    const { pages } = catalogue;
    const index = pageIndex(cursor, pages.length, (page) => cursorOf(catalogue, principal, page));
    const [tools, next] = pages.slice(index, index + 2);
    if (tools === undefined)
      throw new RpcError(RPC.invalidParams, 'the cursor is not valid; list the tools from the beginning');
    return { tools, nextCursor: next === undefined ? undefined : cursorOf(catalogue, principal, index + 1) };
  }

  return (description, principal, cursor) =>
    whenKnown(catalogueOf(description, principal), (made) => pageOf(made, principal, cursor));
}

function* createCatalogue(all: Sliced<readonly Tool[]>, shows: Shows): Sliced<Catalogue> {
  const tools: Tool[] = [];
  for (const tool of yield* all) {
    if (shows(tool.name)) tools.push(tool);
    yield;
  }
  const pages: Uint8Array[] = [];
  const digest = createHash('sha256');
  for (let at = 0; at === 0 || at < tools.length; at += PAGE_SIZE) {
    const page = tools.slice(at, at + PAGE_SIZE).map(({ json }) => json);
    const bytes = Buffer.from(`[${page.join(',')}]`);
    digest.update(bytes);
    pages.push(bytes);
    yield;
  }
  return { pages, digest: digest.digest() };
}

/** `pages` when no page has this cursor. Clients may send null for the first page. */
function pageIndex(cursor: unknown, pages: number, cursorOfPage: (page: number) => string): number {
  if (cursor === undefined || cursor === null) return 0;
  for (let page = 1; page < pages; page++) if (cursorOfPage(page) === cursor) return page;
  return pages;
}

/** The same in every gateway that serves these tools and keys, so that any gateway can continue the list. */
function cursorOf({ digest }: Catalogue, principal: Principal, page: number): string {
  const hash = createHash('sha256').update(digest).update(`${principal.id}\n${page}`);
  return hash.digest('base64url').slice(0, CURSOR_LENGTH);
}
