import type { JSX } from 'preact';

const WIDTH = 120;
const HEIGHT = 24;

/** Hidden from screen readers, since the figures beside it say the same. */
export function Sparkline({ values }: { readonly values: readonly number[] }): JSX.Element {
  const most = Math.max(1, ...values);
  const points = values
    .map((value, at) => {
      const x = (at / Math.max(1, values.length - 1)) * WIDTH;
      return `${x.toFixed(1)},${(HEIGHT - 1 - (value / most) * (HEIGHT - 2)).toFixed(1)}`;
    })
    .join(' ');
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points} />
    </svg>
  );
}
