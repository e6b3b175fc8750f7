import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Next } from '../body.ts';
import { milliseconds } from '../format.ts';
import { Table } from './table.tsx';

export interface Outcome {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

export interface Page {
  /** From 1. */
  readonly number: number;
  readonly outcome: Outcome;
  /** A page that was asked for after this one, and did not come. */
  readonly missed?: Omit<Page, 'missed'> | undefined;
}

interface Props extends Page {
  readonly isRunning: boolean;
  readonly onTurn: (number: number, next?: Next) => void;
}

interface Answer {
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  readonly truncated?: boolean;
  readonly next?: Next;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The answer of a call, as a table or as its JSON, and the way to the next page and back to the first. */
export function Result({ number, outcome, missed, isRunning, onTurn }: Props): JSX.Element {
  const [asJson, setAsJson] = useState(false);
  const section = useRef<HTMLElement>(null);
  const hasTurned = useRef(false);
  const answer = parsed(outcome.text);
  const { rows, truncated } = answer;
  const next = nextOf(answer);
  const hasPages = number > 1 || next !== undefined;
  const isLast = next === undefined && truncated !== true;

  useLayoutEffect(() => {
    // The button that was pressed may be gone, and the focus with it.
    if (hasTurned.current && document.activeElement === document.body) {
      const find = (selector: string) => section.current?.querySelector<HTMLElement>(selector);
      (find('.turn button:last-child') ?? find('.scroll'))?.focus();
    }
    hasTurned.current = false;
  }, [outcome]);

  function turn(to: number, by?: Next): void {
    hasTurned.current = true;
    onTurn(to, by);
  }

  return (
    <section aria-label="Result" ref={section}>
      <p role={rows === undefined ? 'alert' : 'status'} dir="auto">
        {hasPages && `Page ${number}${isLast ? ', the last' : ''}: `}
        {summaryOf(outcome, answer)}
      </p>
      {rows !== undefined && (
        <label>
          <input
            type="checkbox"
            checked={asJson}
            onChange={({ currentTarget }) => setAsJson(currentTarget.checked)}
          />{' '}
          JSON
        </label>
      )}
      {/* By their key the rows of each page begin at their top. */}
      {rows === undefined || asJson ? (
        <pre key={number} class="scroll" tabIndex={0} dir="auto">
          {outcome.text}
        </pre>
      ) : (
        <RowTable key={number} rows={rows} />
      )}
      {missed !== undefined && (
        <p role="alert" dir="auto">
          Page {missed.number}: {summaryOf(missed.outcome, parsed(missed.outcome.text))}
        </p>
      )}
      {hasPages && (
        <p class="turn">
          {number > 1 && (
            <button type="button" aria-disabled={isRunning} onClick={() => turn(1)}>
              First page
            </button>
          )}
          {next !== undefined && (
            <button type="button" aria-disabled={isRunning} onClick={() => turn(number + 1, next)}>
              Next page
            </button>
          )}
        </p>
      )}
    </section>
  );
}

function summaryOf({ status, text, ms }: Outcome, { rows, truncated, error }: Answer): string {
  if (rows === undefined) {
    return `${status} ${error === undefined ? 'is not an answer of the gateway' : `${error.code}: ${error.message}`}`;
  }
  const size = `${new Blob([text]).size} B`;
  return `${milliseconds(ms)}, ${rows.length} ${rows.length === 1 ? 'row' : 'rows'}${truncated === true ? ', truncated' : ''}, ${size}`;
}

/** Undefined also where this browser has rounded a number of it: a page from there would repeat or leave out rows. */
function nextOf({ next }: Answer): Next | undefined {
  if (next === undefined) return undefined;
  const isRounded = (value: unknown): boolean => typeof value === 'number' && !Number.isSafeInteger(value);
  return Object.values(next).some(isRounded) ? undefined : next;
}

function RowTable({ rows }: Required<Pick<Answer, 'rows'>>): JSX.Element {
  const columns = Object.keys(rows[0] ?? {});
  return (
    <Table name="Rows" caption="Rows" heads={columns}>
      {rows.map((row, at) => (
        <tr key={at}>
          {columns.map((column) => (
            <td key={column} dir="auto">
              <Cell value={row[column]} />
            </td>
          ))}
        </tr>
      ))}
    </Table>
  );
}

function Cell({ value }: { readonly value: unknown }): JSX.Element {
  if (value === null) return <em>null</em>;
  return <>{typeof value === 'string' ? value : JSON.stringify(value)}</>;
}

declare global {
  /** What TypeScript does not know yet. */
  interface JSON {
    parse(
      text: string,
      revive: (key: string, value: unknown, at: { readonly source?: string }) => unknown,
    ): Answer;
    /** Browsers of before 2025 have none. */
    readonly rawJSON?: (text: string) => unknown;
  }
}

/** With the numbers as they came: JavaScript would round long ones. */
function parsed(text: string): Answer {
  try {
    return JSON.parse(text, (_, value, { source }) =>
      typeof value === 'number' && source !== undefined ? (JSON.rawJSON?.(source) ?? value) : value,
    );
  } catch {
    return {};
  }
}
