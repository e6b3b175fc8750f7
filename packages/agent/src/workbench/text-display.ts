import { styleText } from 'node:util';
import { counted, printable } from '@svc/edge';
import { wordsOf } from '../databases/driver/errors.ts';
import { clientConfiguration, curlCommand, type Display, type Output, type Refused } from './display.ts';
import { sourceExcerpt } from './source-excerpt.ts';

export interface TextOptions {
  readonly output: Output;
  readonly hasColour: boolean;
  /** Whether database text and lines of the file may be shown. */
  readonly showsDatabaseText: boolean;
  /** Where the database text goes that is not shown. */
  readonly log: string | undefined;
  readonly showsCalls: boolean;
}

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow';

/** Lines for people. */
export function textDisplay(options: TextOptions): Display {
  const { output } = options;
  const paint = (style: Style, text: string): string =>
    options.hasColour ? styleText(style, text, { validateStream: false }) : text;
  const say = (line: string): void =>
    void output.write(`${paint('dim', new Date().toTimeString().slice(0, 8))}  ${line}\n`);

  function showFaults({ file, content, faults }: Refused): void {
    for (const fault of faults) {
      const { path, message, position } = fault;
      const words = wordsOf(fault);
      const isElsewhere = words !== undefined && !options.showsDatabaseText && options.log !== undefined;
      const more = isElsewhere ? `; ${options.log} has the details` : '';
      const place = position === undefined ? file : `${file}:${position.line}:${position.column}`;
      output.write(`  ${paint('bold', place)}  ${path === '' ? '' : `${path}: `}${message}${more}\n`);
      if (!options.showsDatabaseText) continue;
      const excerpt = sourceExcerpt(content, path, position);
      if (excerpt !== undefined) output.write(`${indented(excerpt)}\n`);
      if (words !== undefined) output.write(`${paint('yellow', indented(words))}\n`);
    }
  }

  return {
    ready({ file, capabilities, url, apiKey, consoleUrl, example }) {
      const call =
        example === undefined
          ? ''
          : `\n${paint('bold', `Call ${example.capability}`)}\n\n${curlCommand(url, apiKey, example)}\n`;
      output.write(`
  URL      ${paint('bold', url)}
  API key  ${paint('bold', apiKey)}
  OpenAPI  ${url}/openapi.json
  MCP      ${url}/mcp
  Console  ${consoleUrl}
${call}
${paint('bold', 'Connect an AI client')}

claude mcp add --transport http dev ${url}/mcp --header 'Authorization: Bearer ${apiKey}'

${JSON.stringify(clientConfiguration(url, apiKey), undefined, 2)}

Serving ${counted(capabilities, 'capability', 'capabilities')} of ${file}: each save is checked and served. The key holds until Ctrl-C.

`);
    },
    watching({ file, capabilities, consoleUrl }) {
      output.write(
        `Checking each save of ${file} (${counted(capabilities, 'capability', 'capabilities')}). Run one with \`svc-agent try NAME\`; Ctrl-C ends this.\nConsole  ${consoleUrl}\n`,
      );
    },
    accepted({ served, capabilities, asked, added, changed, removed, durationMs }) {
      const changes = Object.entries({ added, changed, removed }).flatMap(([how, names]) =>
        names === undefined ? [] : [`${how}: ${shortened(names)}`],
      );
      const whatChanged = [
        paint('green', 'served'),
        changes.length === 0 ? 'nothing changed' : changes.join('; '),
      ];
      const count = counted(capabilities, 'capability', 'capabilities');
      const [verdict, what] = served ? whatChanged : [paint('green', 'fine'), `${asked} checked again`];
      say(`${verdict}  ${count}; ${what}  (${durationMs} ms)`);
    },
    refused(refused) {
      const faults = counted(refused.faults.length, 'fault', 'faults');
      say(`${paint('red', faults)}${refused.servesOn ? '; what was there before is served on' : ''}`);
      showFaults(refused);
    },
    called({ name, status, durationMs, errorCode, rows, bytes, detail }) {
      if (!options.showsCalls) return;
      const isFine = status < 400 && errorCode === '';
      const parts = [
        printable(name),
        paint(isFine ? 'green' : 'red', errorCode === '' ? String(status) : `${status} ${errorCode}`),
        `${Math.round(durationMs)} ms`,
        ...(rows === undefined || !isFine ? [] : [counted(rows, 'row', 'rows'), `${bytes ?? 0} B`]),
      ];
      say(parts.join('  '));
      if (options.showsDatabaseText && detail !== undefined && detail !== '')
        output.write(`${paint('yellow', indented(detail))}\n`);
    },
    note: (line) => say(line),
  };
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `    ${printable(line)}`)
    .join('\n');
}

const NAMES_SHOWN = 5;

function shortened(names: string): string {
  const list = names.split(', ');
  const more = list.length - NAMES_SHOWN;
  return more > 0 ? `${list.slice(0, NAMES_SHOWN).join(', ')} and ${more} more` : names;
}
