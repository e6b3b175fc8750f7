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
      '<failure message="&#60;a &#38; &#34;b&#34;&#62;\ufffd\ufffd">',
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
    '<testcase name="capabilities.film.sql" classname="capability file" file="c.yaml" line="3" time="0.000"><error message="is required"/></testcase>',
  );
});
