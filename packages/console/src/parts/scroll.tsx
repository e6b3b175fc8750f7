import type { ComponentChildren, JSX } from 'preact';

interface Props {
  /** What it is, for screen readers. */
  readonly name: string;
  readonly children: ComponentChildren;
}

/** What may be wider or higher than there is room for: the keyboard reaches it, too. */
export function Scroll({ name, children }: Props): JSX.Element {
  return (
    <div class="scroll" role="region" aria-label={name} tabIndex={0}>
      {children}
    </div>
  );
}
