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
  const tests = results.length + faults.length;
  const sums = { tests, failures: failures(report).length, errors: faults.length, time: seconds(ms) };
  const inner = [
    ...(faults.length === 0 ? [] : [faultSuite(file, faults)]),
    ...[...suites].map(([name, of]) => suite(file, name, of)),
  ];
  const all = element('testsuites', { name: 'svc-agent test', ...sums }, inner);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${all}\n`;
}

function suite(file: string, name: string, results: readonly ExampleResult[]): string {
  const ms = results.reduce((sum, result) => sum + result.ms, 0);
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  const cases = results.map(({ number, position: { line }, hasPrincipal, ms: took, problems }) => {
    const title = `example ${number}${hasPrincipal ? ', principal not verified' : ''}`;
    const [message] = problems;
    const failure =
      message === undefined
        ? []
        : [element('failure', { message, type: 'expectation' }, [escaped(problems.join('\n'))])];
    return element('testcase', { name: title, classname: name, file, line, time: seconds(took) }, failure);
  });
  const sums = { tests: results.length, failures: failed, errors: 0, time: seconds(ms) };
  return element('testsuite', { name, ...sums }, cases);
}

function faultSuite(file: string, faults: readonly Fault[]): string {
  const classname = 'capability file';
  const time = seconds(0);
  const cases = faults.map(({ path, message, position }) => {
    const place = position === undefined ? {} : { line: position.line };
    // Few tools show a case without a name.
    const name = path === '' ? 'the file' : path;
    const error = element('error', { message, type: 'fault' }, []);
    return element('testcase', { name, classname, file, ...place, time }, [error]);
  });
  const sums = { tests: faults.length, failures: 0, errors: faults.length, time };
  return element('testsuite', { name: classname, ...sums }, cases);
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
