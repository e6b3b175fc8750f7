import type { Fault } from '../capabilities/fault.ts';
import { failures, type ExampleResult, type ExamplesReport } from './report.ts';

/** JUnit XML, as CI systems read it: a suite for each capability, and one with an error for each fault of the file. */
export function junitReport(report: ExamplesReport, faults: readonly Fault[]): string {
  const { file, results, ms } = report;
  const suites = new Map<string, ExampleResult[]>();
  for (const result of results) {
    const suite = suites.get(result.capability);
    if (suite === undefined) suites.set(result.capability, [result]);
    else suite.push(result);
  }
  const all = {
    name: 'svc-agent test',
    tests: results.length + faults.length,
    failures: failures(report).length,
    errors: faults.length,
    time: seconds(ms),
  };
  const inner = [
    ...(faults.length === 0 ? [] : [faultSuite(file, faults)]),
    ...[...suites].map(([name, of]) => suite(file, name, of)),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>\n${element('testsuites', all, inner)}\n`;
}

function suite(file: string, name: string, results: readonly ExampleResult[]): string {
  const ms = results.reduce((sum, result) => sum + result.ms, 0);
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  const cases = results.map(({ number, position, hasPrincipal, ms: took, problems }) => {
    const attributes = {
      name: `example ${number}${hasPrincipal ? ', principal not verified' : ''}`,
      classname: name,
      file,
      line: position.line,
      time: seconds(took),
    };
    const [first] = problems;
    return element(
      'testcase',
      attributes,
      first === undefined
        ? []
        : [element('failure', { message: first, type: 'expectation' }, [escaped(problems.join('\n'))])],
    );
  });
  const attributes = { name, tests: results.length, failures: failed, errors: 0, time: seconds(ms) };
  return element('testsuite', attributes, cases);
}

function faultSuite(file: string, faults: readonly Fault[]): string {
  const cases = faults.map(({ path, message, position }) => {
    const place = position === undefined ? {} : { line: position.line };
    // Few tools show a case without a name.
    const attributes = {
      name: path === '' ? 'the file' : path,
      classname: 'capability file',
      file,
      ...place,
      time: seconds(0),
    };
    return element('testcase', attributes, [element('error', { message, type: 'fault' }, [])]);
  });
  const attributes = {
    name: 'capability file',
    tests: faults.length,
    failures: 0,
    errors: faults.length,
    time: seconds(0),
  };
  return element('testsuite', attributes, cases);
}

function element(
  name: string,
  attributes: Readonly<Record<string, string | number>>,
  inner: readonly string[],
): string {
  const written = Object.entries(attributes).map(([key, value]) => ` ${key}="${escaped(String(value))}"`);
  const start = `<${name}${written.join('')}`;
  return inner.length === 0 ? `${start}/>` : `${start}>${inner.join('')}</${name}>`;
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** XML has no way to write most control characters and half surrogate pairs: they become U+FFFD. */
function escaped(text: string): string {
  return text
    .replaceAll(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, '\ufffd')
    .replaceAll(/[&<>"\t\n\r]/g, (character) => `&#${character.charCodeAt(0)};`);
}
