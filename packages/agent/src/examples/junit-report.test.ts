import fc from 'fast-check';
import { expect, test } from 'vitest';
import { junitReport } from './junit-report.ts';

const position = { line: 3, column: 7 };

test('is a suite for each capability, and markup in texts stays text', { tags: ['command:test'] }, () => {
  const results = [
    { capability: 'film', number: 1, position, hasPrincipal: true, ms: 12.3, problems: [] },
    {
      capability: 'film',
      number: 2,
      position,
      hasPrincipal: false,
      ms: 1,
      problems: ['<a & "b">\u0001\ud800', 'two'],
    },
    { capability: 'list', number: 1, position, hasPrincipal: false, ms: 0, problems: [] },
  ];
  expect(junitReport({ file: 'c.yaml', results, ms: 20 }, [])).toBe(
    [
      '<?xml version="1.0" encoding="UTF-8"?>\n',
      '<testsuites name="svc-agent test" tests="3" failures="1" errors="0" time="0.020">',
      '<testsuite name="film" tests="2" failures="1" errors="0" time="0.013">',
      '<testcase name="example 1, principal not verified" classname="film" file="c.yaml" line="3" time="0.012"/>',
      '<testcase name="example 2" classname="film" file="c.yaml" line="3" time="0.001">',
      '<failure message="&#60;a &#38; &#34;b&#34;&#62;\ufffd\ufffd" type="expectation">',
      '&#60;a &#38; &#34;b&#34;&#62;\ufffd\ufffd&#10;two</failure></testcase>',
      '</testsuite>',
      '<testsuite name="list" tests="1" failures="0" errors="0" time="0.000">',
      '<testcase name="example 1" classname="list" file="c.yaml" line="3" time="0.000"/>',
      '</testsuite></testsuites>\n',
    ].join(''),
  );
});

test('tells faults of the file as errors', { tags: ['command:test'] }, () => {
  const fault = { path: 'capabilities.film.sql', message: 'is required', position };
  expect(junitReport({ file: 'c.yaml', results: [], ms: 0 }, [fault])).toContain(
    '<testcase name="capabilities.film.sql" classname="capability file" file="c.yaml" line="3" time="0.000"><error message="is required" type="fault"/></testcase>',
  );
});

test('is well-formed, and has what tools require, whatever texts hold', { tags: ['command:test'] }, () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(hostile, hostile)), hostile, fc.array(hostile), (pairs, file, messages) => {
      const results = pairs.map(([capability, problem]) => {
        return { capability, number: 1, position, hasPrincipal: false, ms: 1, problems: [problem] };
      });
      const faults = messages.map((message) => ({ path: message, message }));
      const read = readXml(junitReport({ file, results, ms: 1 }, faults));
      const cases = read.filter(({ name }) => name === 'testcase');
      expect(cases).toHaveLength(pairs.length + messages.length);
      for (const { name, attributes } of read) {
        const required = REQUIRED.get(name) ?? expect.unreachable(name);
        expect(Object.keys(attributes)).toEqual(expect.arrayContaining([...required]));
        if (name === 'testcase') expect(attributes['name']).not.toBe('');
      }
    }),
  );
});

const hostile = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(']]>', '<!--', '-->', '&amp;', '"/><script>', '', '\u0000\u001b[31m\ufffe', '__proto__'),
);
/** By the schemas of Jenkins and Ant. */
const REQUIRED: ReadonlyMap<string, readonly string[]> = new Map([
  ['testsuites', ['name', 'tests', 'failures', 'errors', 'time']],
  ['testsuite', ['name', 'tests', 'failures', 'errors', 'time']],
  ['testcase', ['name', 'classname', 'time']],
  ['failure', ['message', 'type']],
  ['error', ['message', 'type']],
]);

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Every element of a document, which is refused unless it is well-formed XML of characters that XML allows. */
function readXml(xml: string): readonly Element[] {
  expect(xml).not.toMatch(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u);
  const body = xml.replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>\n/, '').trimEnd();
  const open: string[] = [];
  const found: Element[] = [];
  let end = 0;
  for (const match of body.matchAll(/<(\/?)([a-z]+)((?: [a-z]+="[^"<&]*(?:&#\d+;[^"<&]*)*")*)(\/?)>/g)) {
    const [tag, closing, name = '', attributes = '', empty] = match;
    expect(body.slice(end, match.index)).toMatch(open.length === 0 ? /^$/ : /^[^<&]*(?:&#\d+;[^<&]*)*$/);
    end = match.index + tag.length;
    if (closing === '/') {
      expect(open.pop()).toBe(name);
      continue;
    }
    const pairs = [...attributes.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, key = '', value = '']) => [
      key,
      value,
    ]);
    expect(new Set(pairs.map(([key]) => key)).size).toBe(pairs.length);
    found.push({ name, attributes: Object.fromEntries(pairs) });
    if (empty === '') open.push(name);
  }
  expect([end, open]).toEqual([body.length, []]);
  return found;
}
