import { expect, test } from 'vitest';
import { printFaults } from './print-faults.ts';

test('what the database says stands below a fault where it is asked for', () => {
  let output = '';
  const stream = { write: (text: string) => (output += text) };
  const fault = {
    path: 'a.sql',
    message: 'is refused',
    detail: 'column "x"\u001b',
    hint: 'line 2 of the SQL',
  };
  printFaults([fault], stream, 'f');
  expect(output).toBe('f  a.sql: is refused\n');
  output = '';
  printFaults([fault, { path: 'b', message: 'is odd' }], stream, 'f', { details: true });
  expect(output).toBe('f  a.sql: is refused\n    column "x"\\u001b; line 2 of the SQL\nf  b: is odd\n');
});

test('one line for each fault, with its place', () => {
  let output = '';
  const stream = { write: (text: string) => (output += text) };
  printFaults(
    [
      { path: '', message: 'the file is empty' },
      { path: '', message: 'a tab cannot indent: use spaces', position: { line: 2, column: 1 } },
      { path: 'capabilities.x.params.id.type', message: 'must be text', position: { line: 12, column: 5 } },
    ],
    stream,
    'capability.yaml',
  );
  expect(output).toBe(
    `capability.yaml  the file is empty
capability.yaml:2:1  a tab cannot indent: use spaces
capability.yaml:12:5  capabilities.x.params.id.type: must be text
`,
  );
});
