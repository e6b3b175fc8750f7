import type { JSX } from 'preact';
import type { KeyUse, Keys } from '../data.ts';
import { dateTime } from '../format.ts';
import { Fresh } from '../parts/fresh.tsx';
import { KeyMatrix } from '../parts/key-matrix.tsx';
import { usePolled } from '../poll.ts';
import { Table } from '../parts/table.tsx';

export function KeysPage(): JSX.Element {
  const polled = usePolled<Keys>('keys');
  return (
    <>
      <h1>Keys</h1>
      <p class="muted">
        Keys are made by <code>svc-gateway create-key</code> and live in the settings; this page changes
        nothing.
      </p>
      <Fresh polled={polled}>{(data) => <KeyTables {...data} />}</Fresh>
    </>
  );
}

function KeyTables({ keys, capabilities }: Keys): JSX.Element {
  return (
    <>
      <Table
        name="API keys"
        caption="API keys and what they may call"
        heads={['Key', 'May call', 'Requests', 'Last used', 'Expires']}
      >
        {keys.map((key) => (
          <tr key={`${key.service} ${key.name}`}>
            <th scope="row" dir="auto">
              {key.service === undefined ? '' : `${key.service}/`}
              {key.name} {key.key_id !== undefined && <code>{key.key_id}</code>}
            </th>
            <td>
              <Permissions {...key} />
            </td>
            <td>{key.calls}</td>
            <td>{key.last_used === undefined ? <mark>never</mark> : dateTime(key.last_used)}</td>
            <td>{dateTime(key.expires_at)}</td>
          </tr>
        ))}
      </Table>
      <KeyMatrix keys={keys} capabilities={capabilities} />
    </>
  );
}

function Permissions({ wildcard, permissions, unknown_permissions: unknown }: KeyUse): JSX.Element {
  if (wildcard) return <mark>* (all)</mark>;
  return (
    <ul class="inline">
      {permissions.map((name) => (
        <li key={name}>{unknown.includes(name) ? <mark>{name} (no agent offers it)</mark> : name}</li>
      ))}
    </ul>
  );
}
