import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

interface Props {
  readonly id: string;
  readonly label: string;
  readonly names: readonly string[];
  readonly chosen: string;
  readonly onChosen: (name: string) => void;
}

/** A list of fewer is seen at a glance. */
const FILTERED_FROM = 20;

/** One of several names; of many those that have a part, and the one that is chosen. */
export function NameChoice({ id, label, names, chosen, onChosen }: Props): JSX.Element {
  const [part, setPart] = useState('');
  const found = names.filter((name) => name === chosen || name.includes(part.trim().toLowerCase()));
  return (
    <p>
      {names.length >= FILTERED_FROM && (
        <>
          <label>
            Filter <input value={part} onInput={({ currentTarget }) => setPart(currentTarget.value)} />
          </label>{' '}
        </>
      )}
      <label for={id}>{label}</label>{' '}
      <select id={id} value={chosen} onChange={({ currentTarget }) => onChosen(currentTarget.value)}>
        {found.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </p>
  );
}
