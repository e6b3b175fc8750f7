import type { Description } from '@svc/protocol';
import { expect, test } from 'vitest';
import type { Principal } from '../../../core/principal.ts';
import { keyPrincipal } from '../../../core/principal.testing.ts';
import { createListTools, type Page } from './list-tools.ts';

function describing(names: readonly string[], hidden: readonly string[] = []): Description {
  const operation = {
    post: { summary: 'T', requestBody: { content: { 'application/json': { schema: {} } } } },
  };
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title: 't', version: '1' },
      paths: Object.fromEntries(names.map((name) => [`/api/v1/capabilities/${name}`, operation])),
    },
    manifest: names.map((name) => ({ name, exposed: !hidden.includes(name), timeout_ms: 1 })),
  };
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, at) => `tool_${count - at}`);
function namesOf({ tools }: Page): string[] {
  const listed: readonly { readonly name: string }[] = JSON.parse(Buffer.from(tools).toString());
  return listed.map(({ name }) => name);
}
const all = keyPrincipal('all', '*');

test('pages have 200 tools in the order of the description, and make up the whole', async () => {
  const names = numbered(401);
  const listTools = createListTools();
  const description = describing(names);
  const pages = [await listTools(description, all, undefined)];
  for (let next = pages[0]?.nextCursor; next !== undefined; next = pages.at(-1)?.nextCursor) {
    pages.push(await listTools(description, all, next));
  }
  expect(pages.map((page) => namesOf(page).length)).toEqual([200, 200, 1]);
  expect(pages.flatMap(namesOf)).toEqual(names);
});

test('200 tools are one page, none is one too', async () => {
  const listTools = createListTools();
  expect((await listTools(describing(numbered(200)), all, null)).nextCursor).toBeUndefined();
  expect(await listTools(describing([]), all, undefined)).toEqual({
    tools: Buffer.from('[]'),
    nextCursor: undefined,
  });
});

test('a key sees what it may call and what is not hidden', async () => {
  const description = describing(['a', 'b', 'c'], ['b']);
  const listTools = createListTools();
  expect(namesOf(await listTools(description, all, undefined))).toEqual(['a', 'c']);
  expect(
    namesOf(await listTools(description, keyPrincipal('some', new Set(['b', 'c', 'd'])), undefined)),
  ).toEqual(['c']);
  expect(namesOf(await listTools(description, keyPrincipal('none', new Set()), undefined))).toEqual([]);
});

test('the bytes of a page are made once', async () => {
  const listTools = createListTools();
  const description = describing(numbered(1000));
  const { tools, nextCursor } = await listTools(description, all, undefined);
  expect((await listTools(description, keyPrincipal('other', '*'), undefined)).tools).toBe(tools);
  const next = await listTools(description, all, nextCursor);
  expect((await listTools(description, all, nextCursor)).tools).toBe(next.tools);
});

test('a cursor is good for its key and these tools, also at another gateway', async () => {
  const [names, other] = [numbered(300), [...numbered(299), 'another']];
  const { nextCursor } = await createListTools()(describing(names), all, undefined);
  const listTools = createListTools();
  expect(namesOf(await listTools(describing(names), all, nextCursor))).toHaveLength(100);
  const wrong = { code: -32602, status: 200 };
  const refused = (described: readonly string[], principal: Principal, cursor: unknown): Promise<void> =>
    expect(async () => listTools(describing(described), principal, cursor)).rejects.toMatchObject(wrong);
  await refused(names, keyPrincipal('other', '*'), nextCursor);
  await refused(other, all, nextCursor);
  for (const cursor of ['', 'x', 0, 1, {}, true]) await refused(names, all, cursor);
});

test('paths that are no capability, and operations without parameters to send, are no tools', async () => {
  const description = describing(['a']);
  const { openapi } = description;
  const odd = { '/admin': {}, '/api/v1/capabilities/': {}, '/api/v1/capabilities/b': { post: null } };
  const described = { ...description, openapi: { ...openapi, paths: { ...odd, ...openapi.paths } } };
  expect(namesOf(await createListTools()(described, all, undefined))).toEqual(['a']);
});
