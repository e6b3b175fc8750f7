import type { ComponentChildren, JSX } from 'preact';

interface Props {
  /** What it is, for screen readers. */
  readonly name: string;
  readonly caption?: ComponentChildren;
  readonly heads?: readonly string[];
  readonly children: ComponentChildren;
}

/** A table in a region that scrolls if it does not fit. The keyboard can reach it. */
export function Table({ name, caption, heads, children }: Props): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label={name} tabIndex={0}>
      <table>
        {caption !== undefined && <caption>{caption}</caption>}
        {heads !== undefined && (
          <thead>
            <tr>
              {heads.map((head, at) => (
                <th scope="col" key={at} dir="auto">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
