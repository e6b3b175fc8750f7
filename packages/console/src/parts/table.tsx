import type { ComponentChildren, JSX } from 'preact';

interface ScrollProps {
  /** What it is, for screen readers. */
  readonly name: string;
  readonly children: ComponentChildren;
}

/** A region that scrolls if its contents do not fit. The keyboard can reach it. */
export function Scroll({ name, children }: ScrollProps): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label={name} tabIndex={0}>
      {children}
    </div>
  );
}

interface TableProps extends ScrollProps {
  readonly caption?: ComponentChildren;
  readonly heads?: readonly string[];
}

export function Table({ name, caption, heads, children }: TableProps): JSX.Element {
  return (
    <Scroll name={name}>
      <table>
        {caption !== undefined && <caption>{caption}</caption>}
        {heads !== undefined && (
          <thead>
            <tr>
              {heads.map((head) => (
                <th scope="col" key={head}>
                  {head}
                </th>
              ))}
            </tr>
          </thead>
        )}
        <tbody>{children}</tbody>
      </table>
    </Scroll>
  );
}
