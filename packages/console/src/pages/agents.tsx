import type { JSX } from 'preact';
import type { Agents } from '../data.ts';
import { dateTime } from '../format.ts';
import { Fresh } from '../parts/fresh.tsx';
import { usePolled } from '../poll.ts';
import { Table } from '../parts/table.tsx';

export function AgentsPage(): JSX.Element {
  const polled = usePolled<Agents>('agents');
  return (
    <>
      <h1>Agents</h1>
      <Fresh polled={polled}>{(data) => <AgentTables {...data} />}</Fresh>
    </>
  );
}

function AgentTables({ agents, offers }: Agents): JSX.Element {
  const away = offers.filter(({ connected }) => !connected);
  return (
    <>
      <Table
        name="Agents"
        caption="Connected agents"
        heads={['Instance', 'Key', 'Since', 'Source', 'Version', 'Links', 'Capabilities', 'Calls now']}
      >
        {agents.map((agent) => (
          <tr key={`${agent.key_id} ${agent.instance_id}`}>
            <th scope="row">
              {agent.service === undefined ? '' : `${agent.service}/`}
              <code>{agent.instance_id}</code>
            </th>
            <td>
              <code>{agent.key_id}</code>
            </td>
            <td>{dateTime(agent.since)}</td>
            <td>{agent.source}</td>
            <td dir="auto">{agent.version ?? '–'}</td>
            <td>{agent.links}</td>
            <td>{agent.capabilities}</td>
            <td>{agent.in_flight}</td>
          </tr>
        ))}
      </Table>
      {agents.length === 0 && <p role="alert">No agent is connected.</p>}
      {away.length > 0 && (
        <section>
          <h2>Away</h2>
          <p class="muted">What these agents offered is still described to callers.</p>
          <ul>
            {away.map((offer) => (
              <li key={`${offer.key_id} ${offer.instance_id}`}>
                <code>{offer.instance_id}</code>: {offer.capabilities.join(', ')}
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
