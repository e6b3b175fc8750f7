import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Keys, KeyUse, OfferedCapability } from '../data.ts';
import { Table } from './table.tsx';

/** More rows would be drawn with each poll, and nobody would read them. */
const ROWS_MAX = 100;

export function KeyMatrix({ keys, capabilities }: Keys): JSX.Element {
  const [isOpen, setIsOpen] = useState(false);
  const [part, setPart] = useState('');
  const found = capabilities.filter((capability) => nameOf(capability).includes(part.trim()));
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Who may call what</summary>
      {isOpen && (
        <>
          <p>
            <label>
              Capability <input value={part} onInput={({ currentTarget }) => setPart(currentTarget.value)} />
            </label>
          </p>
          <Table
            name="Who may call what"
            caption={
              found.length > ROWS_MAX
                ? `The first ${ROWS_MAX} of ${found.length} capabilities`
                : `${found.length} capabilities`
            }
            heads={['Capability', ...keys.map(nameOf)]}
          >
            {found.slice(0, ROWS_MAX).map((capability) => (
              <tr key={nameOf(capability)}>
                <th scope="row">{nameOf(capability)}</th>
                {keys.map((key) => (
                  <td key={nameOf(key)}>{mayCall(key, capability) ? 'yes' : '–'}</td>
                ))}
              </tr>
            ))}
          </Table>
        </>
      )}
    </details>
  );
}

function nameOf({ name, service }: KeyUse | OfferedCapability): string {
  return service === undefined ? name : `${service}/${name}`;
}

function mayCall(key: KeyUse, { name, service }: OfferedCapability): boolean {
  return key.service === service && (key.wildcard || key.permissions.includes(name));
}
