import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { milliseconds } from '../format.ts';
import { Table } from './table.tsx';

export interface Outcome {
  readonly status: number;
  readonly text: string;
  readonly ms: number;
}

interface Answer {
  readonly rows?: readonly Readonly<Record<string, unknown>>[];
  readonly truncated?: boolean;
  readonly error?: { readonly code: string; readonly message: string };
}

/** The answer of a call, as a table or as its JSON. */
export function Result({ status, text, ms }: Outcome): JSX.Element {
  const [asJson, setAsJson] = useState(false);
  const { rows, truncated, error } = parsed(text);
  const size = `${new Blob([text]).size} B`;
  const summary =
    rows === undefined
      ? `${status} ${error === undefined ? 'is not an answer of the gateway' : `${error.code}: ${error.message}`}`
      : `${milliseconds(ms)}, ${rows.length} ${rows.length === 1 ? 'row' : 'rows'}${truncated === true ? ', truncated' : ''}, ${size}`;
  return (
    <section aria-label="Result">
      <p role={rows === undefined ? 'alert' : 'status'} dir="auto">
        {summary}
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
      {rows === undefined || asJson ? (
        <pre class="scroll" tabIndex={0} dir="auto">
          {text}
        </pre>
      ) : (
        <RowTable rows={rows} />
      )}
    </section>
  );
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
