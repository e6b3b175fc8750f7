import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Calls } from '../data.ts';
import { clock, milliseconds } from '../format.ts';
import { Fresh } from '../parts/fresh.tsx';
import { usePolled } from '../poll.ts';
import { Table } from '../parts/table.tsx';

const FILTERS = {
  capability: 'Capability',
  key: 'Key',
  status: 'Status',
  error: 'Error',
  q: 'Text',
} as const;

export function CallsPage(): JSX.Element {
  const [filters, setFilters] = useState<Readonly<Record<string, string>>>({});
  const [before, setBefore] = useState<number>();
  const query = new URLSearchParams({
    ...filters,
    ...(before === undefined ? {} : { before: String(before) }),
  });
  const polled = usePolled<Calls>(`calls?${query}`);
  const older = polled.data?.next_before;
  return (
    <>
      <h1>Calls</h1>
      <search>
        <form class="filters" onSubmit={(event) => event.preventDefault()}>
          {Object.entries(FILTERS).map(([name, label]) => (
            <label key={name}>
              {label}
              <input
                value={filters[name] ?? ''}
                onInput={({ currentTarget }) => {
                  setBefore(undefined);
                  setFilters({ ...filters, [name]: currentTarget.value });
                }}
              />
            </label>
          ))}
        </form>
      </search>
      <Fresh polled={polled}>{(data) => <CallTable {...data} />}</Fresh>
      <p>
        <button type="button" disabled={before === undefined} onClick={() => setBefore(undefined)}>
          Newest
        </button>{' '}
        <button type="button" disabled={older === undefined} onClick={() => setBefore(older)}>
          Older
        </button>
      </p>
    </>
  );
}

function CallTable({ calls, kept_max: kept, dropped }: Calls): JSX.Element {
  return (
    <>
      <Table
        name="Requests"
        caption={`The last ${kept} requests at most`}
        heads={['Time', 'Key', 'Capability', 'Status', 'Duration', 'Error', 'Source', 'Request']}
      >
        {calls.map((call) => (
          <tr key={call.id}>
            <td>{clock(call.time)}</td>
            <td dir="auto">{call.principal ?? call.api_key_name}</td>
            <th scope="row">{call.capability === '' ? (call.mcp_method ?? call.route) : call.capability}</th>
            <td>{call.http_status}</td>
            <td>{milliseconds(call.duration_ms)}</td>
            <td>{call.error_code}</td>
            <td>{call.source}</td>
            <td>
              {call.trace_url === undefined ? (
                <code>{call.request_id}</code>
              ) : (
                <a href={call.trace_url} rel="noreferrer">
                  <code>{call.request_id}</code>
                </a>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {calls.length === 0 && <p role="status">No request is like that.</p>}
      {dropped > 0 && <p class="muted">{dropped} requests came too close together to be kept.</p>}
    </>
  );
}
