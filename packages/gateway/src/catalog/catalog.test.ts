import type { Description } from '@svc/protocol';
import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import type { GatewayEvent } from '../telemetry/events.ts';
import { createCatalog, type Catalog } from './catalog.ts';
import { offering } from './offer.testing.ts';

const PREFIX = '/api/v1/capabilities/';

/** A file whose capabilities are described by these texts. */
function file(capabilities: Readonly<Record<string, string>>, title = 't'): Description {
  const entries = Object.entries(capabilities);
  return {
    openapi: {
      openapi: '3.1.0',
      info: { title, version: '1' },
      paths: Object.fromEntries(
        entries.map(([name, description]) => [PREFIX + name, { post: { description } }]),
      ),
      components: { responses: { NotFound: { description: 'x' } } },
    },
    manifest: entries.map(([name]) => ({ name, exposed: true, timeout_ms: 1 })),
  };
}

let catalog: Catalog;
let events: GatewayEvent[];
let served: Description[];
beforeEach(() => {
  events = [];
  served = [];
  catalog = createCatalog((event) => events.push(event));
  catalog.onDescription((description) => served.push(description));
});

function connect(description: Description, keyId = 'key', instanceId = 'instance'): () => void {
  return catalog.add(offering(description, keyId, instanceId));
}

const namesOf = (): string[] =>
  Object.keys(catalog.description?.openapi.paths ?? {}).map((path) => path.slice(PREFIX.length));
const known = (...names: string[]): string[] => names.filter((name) => catalog.knows(name));

test('before the first agent there is nothing', () => {
  expect(catalog.description).toBeUndefined();
  expect(catalog.knows('a')).toBe(false);
});

describe('what is offered', { tags: ['agent:catalogue'] }, () => {
  test('by one agent is its description, unchanged; by two with one file too', () => {
    const one = file({ b: '1', a: '2' });
    connect(one, 'key', '1');
    expect(JSON.stringify(catalog.description)).toBe(JSON.stringify(one));
    connect(one, 'key', '2');
    connect(one, 'other', '3');
    expect(JSON.stringify(catalog.description)).toBe(JSON.stringify(one));
    expect(served).toHaveLength(1);
  });

  test('is kept while an agent is away, and makes one description of all', () => {
    const leaves = [
      connect(file({ b: '1', a: '2' }, 'first'), '1'),
      connect(file({ c: '3' }, 'second'), '2'),
    ];
    for (const leave of leaves) leave();
    expect(namesOf()).toEqual(['b', 'a', 'c']);
    expect(catalog.description?.manifest.map(({ name }) => name)).toEqual(['b', 'a', 'c']);
    expect(known('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c']);
    expect(catalog.description?.openapi.info.title).toBe('second');
  });

  test('is listed in one order, whoever connects when', () => {
    connect(file({ b: '1', a: '2' }), '1');
    connect(file({ d: '3', c: '4' }), '2');
    const before = catalog.description;
    connect(file({ b: '1', a: '2' }), '1')();
    expect(catalog.description).toBe(before);
    catalog = createCatalog(() => {});
    connect(file({ d: '3', c: '4' }), '2');
    connect(file({ b: '1', a: '2' }), '1');
    expect(catalog.description).toEqual(before);
    expect(served).toHaveLength(2);
  });

  test('is as the newest agent describes it, in its place', () => {
    connect(file({ a: 'old', b: 'old' }), '1');
    const hiding = file({ b: 'new', a: 'new' });
    connect({ ...hiding, manifest: hiding.manifest.map((entry) => ({ ...entry, exposed: false })) }, '2');
    expect(catalog.description?.openapi.paths).toEqual(hiding.openapi.paths);
    expect(namesOf()).toEqual(['a', 'b']);
    expect(catalog.description?.manifest.map(({ exposed }) => exposed)).toEqual([false, false]);
  });

  test('needs of who calls what the newest agent says of each capability', () => {
    const needing = (description: Description, ...needs: string[]): Description => ({
      ...description,
      manifest: description.manifest.map((entry) => ({ ...entry, ...(needs.length > 0 && { needs }) })),
    });
    connect(needing(file({ a: 'old', b: 'old' }), 'principal.subject'), '1');
    connect(needing(file({ b: 'new', c: 'new' })), '2');
    expect(catalog.description?.manifest.map(({ name, needs }) => [name, needs])).toEqual([
      ['a', ['principal.subject']],
      ['b', undefined],
      ['c', undefined],
    ]);
  });

  test('may refer to components that the newest agent does not have', () => {
    connect(file({ a: '1' }), '1');
    const newest = file({ b: '2' });
    const components = { responses: { Gone: {} }, headers: { Id: {} } };
    connect({ ...newest, openapi: { ...newest.openapi, components } }, '2');
    expect(catalog.description?.openapi['components']).toEqual({
      responses: { NotFound: { description: 'x' }, Gone: {} },
      headers: { Id: {} },
    });
  });
});

describe('an offer is replaced', { tags: ['agent:catalogue'] }, () => {
  test('by the next agent of its key, when no other of that key is connected', () => {
    const leave = connect(file({ a: '1' }), 'key', '1');
    connect(file({ other: '1' }), 'other', '2');
    leave();
    connect(file({ b: '1' }), 'key', '3');
    expect(known('a', 'b', 'other')).toEqual(['b', 'other']);
  });

  test('not while another of its key is connected', () => {
    const leave = connect(file({ a: '1' }), 'key', '1');
    const leaveToo = connect(file({ b: '1' }), 'key', '2');
    leave();
    connect(file({ c: '1' }), 'key', '3')();
    expect(known('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    leaveToo();
    connect(file({ d: '1' }), 'key', '4');
    expect(known('a', 'b', 'c', 'd')).toEqual(['d']);
  });

  test('not by another agent that offers the same and is connected', () => {
    connect(file({ z: '1' }), 'key', 'stays');
    connect(file({ x: '1' }), 'key', 'leaves')();
    connect(file({ x: '1' }), 'key', 'changes');
    connect(file({ y: '1' }), 'key', 'changes');
    expect(known('x', 'y', 'z')).toEqual(['x', 'y', 'z']);
  });

  test('by the same instance always, also before its loss is noticed', () => {
    connect(file({ b: '1' }), 'key', '2');
    const leaveLate = connect(file({ a: '1' }), 'key', '1');
    connect(file({ c: '1' }), 'key', '1');
    expect(known('a', 'b', 'c')).toEqual(['b', 'c']);
    leaveLate();
    connect(file({ d: '1' }), 'key', '2');
    expect(known('a', 'b', 'c', 'd')).toEqual(['c', 'd']);
  });
});

test('an agent is connected for as long as one of its links is', { tags: ['agent:catalogue'] }, () => {
  const leaveFirst = connect(file({ a: '1' }), 'key', '1');
  const leaveSecond = connect(file({ a: '1' }), 'key', '1');
  leaveSecond();
  leaveSecond();
  connect(file({ b: '1' }), 'key', '2')();
  expect(known('a', 'b')).toEqual(['a', 'b']);
  leaveFirst();
  connect(file({ c: '1' }), 'key', '3');
  expect(known('a', 'b', 'c')).toEqual(['c']);
});

test('whatever connects and leaves, known is what the rule of replacement leaves', () => {
  const files = [{ a: '1' }, { b: '1', a: '1' }, { c: '1' }, { a: '2', d: '1' }].map((one) => file(one));
  const step = fc.record({ instance: fc.nat(7), leaves: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      catalog = createCatalog(() => {});
      const leave = new Map<number, () => void>();
      let offers: { key: number; instance: number; names: string[] }[] = [];
      for (const { instance, leaves } of steps) {
        if (leaves) {
          leave.get(instance)?.();
          leave.delete(instance);
          continue;
        }
        const key = instance % 2;
        const description = files[instance % files.length] ?? file({});
        const accompanied = [...leave.keys()].some((other) => other % 2 === key && other !== instance);
        offers = offers.filter((offer) => offer.key !== key || (accompanied && offer.instance !== instance));
        offers.push({ key, instance, names: description.manifest.map(({ name }) => name) });
        const before = leave.get(instance);
        leave.set(instance, connect(description, String(key), String(instance)));
        before?.();
      }
      const names = new Set(offers.flatMap((offer) => offer.names));
      expect(known('a', 'b', 'c', 'd')).toEqual(['a', 'b', 'c', 'd'].filter((name) => names.has(name)));
      expect(namesOf().toSorted()).toEqual([...names].toSorted());
    }),
    { numRuns: 300 },
  );
});

test('files of agents that never come back do not pile up', { tags: ['agent:catalogue'] }, () => {
  connect(file({ stays: '1' }), 'key', 'stays');
  for (let count = 0; count < 100; count++) connect(file({ [`v${count}`]: '1' }), 'key', `${count}`)();
  const names = Array.from({ length: 100 }, (_, count) => `v${count}`);
  expect(known('stays', ...names)).toEqual(['stays', ...names.slice(-16)]);
});

describe('two descriptions of one capability', { tags: ['log:descriptions_differ'] }, () => {
  test('are one warning for each that differs, however often the agents come back', () => {
    const first = (): void => connect(file({ same: '1', a: '1', b: '1' }), 'key1', 'instance1')();
    const second = (): void => connect(file({ same: '1', a: '2', b: '2' }), 'key2', 'instance2')();
    for (const reconnect of [first, second, first, second, first]) reconnect();
    const agents = {
      instance_id: 'instance2',
      key_id: 'key2',
      other_instance_id: 'instance1',
      other_key_id: 'key1',
    };
    expect(events).toEqual([
      { event: 'descriptions_differ', capability: 'a', ...agents },
      { event: 'descriptions_differ', capability: 'b', ...agents },
    ]);
    connect(file({ same: '1', a: '2', b: '3' }), 'key2', 'instance3');
    expect(events.slice(2)).toMatchObject([{ capability: 'b', instance_id: 'instance3' }]);
  });

  test('are none when a file is replaced, nor when many agents have one file', () => {
    connect(file({ a: '1' }), 'key', '1')();
    connect(file({ a: '2' }), 'key', '2');
    connect(file({ a: '2' }), 'key', '3');
    connect(file({ a: '2' }), 'other', '4');
    expect(events).toEqual([]);
  });
});
