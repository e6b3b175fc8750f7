import { expect, test } from 'vitest';
import { textDisplay } from './text-display.ts';

const FILE = `database: { password: hunter2 }
capabilities:
  get_film:
    sql: SELECT tittle FROM film
`;

function refused(showsDatabaseText: boolean): string {
  let text = '';
  const output = { write: (more: string) => void (text += more) };
  textDisplay({ output, hasColour: false, showsDatabaseText, log: 'a.log', showsCalls: true }).refused({
    file: 'a.yaml',
    content: Buffer.from(FILE),
    servesOn: true,
    faults: [
      {
        path: 'capabilities.get_film.sql',
        message: 'is refused',
        position: { line: 4, column: 5 },
        detail: 'column "tittle"\u001B does not exist',
      },
      { path: 'database.password', message: 'is wrong', position: { line: 1, column: 23 } },
    ],
  });
  return text.slice('00:00:00  '.length);
}

test('a terminal is shown the line at fault with a caret and the words of the database, and never a secret', () => {
  expect(refused(true)).toBe(`2 faults; what was there before is served on
  a.yaml:4:5  capabilities.get_film.sql: is refused
    4 |     sql: SELECT tittle FROM film
            ^
    column "tittle"\\u001b does not exist
  a.yaml:1:23  database.password: is wrong
`);
});

test('what is no terminal gets neither of them, and hears what has the words', () => {
  expect(refused(false)).toBe(`2 faults; what was there before is served on
  a.yaml:4:5  capabilities.get_film.sql: is refused; a.log has the details
  a.yaml:1:23  database.password: is wrong
`);
});
