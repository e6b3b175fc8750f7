import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { isDark } from '../scheme.ts';
import { Table } from './table.tsx';

interface Line {
  readonly label: string;
  readonly values: readonly (number | null)[];
}

interface Props {
  readonly title: string;
  readonly times: readonly number[];
  readonly lines: readonly Line[];
}

const HEIGHT = 180;
/** Of the custom properties in the style sheet. */
const COLOURS = ['--line-1', '--line-2'];

/** Lines over time, with their numbers in a table below. */
export function LineChart({ title, times, lines }: Props): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const data: uPlot.AlignedData = [[...times], ...lines.map(({ values }) => [...values])];

  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsFor(element, lines), data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
    // The colours are read once.
  }, [isDark.value]);
  useEffect(() => plot.current?.setData(data), [data]);

  return (
    <figure>
      <figcaption>
        {title}
        {lines.length > 1 &&
          lines.map(({ label }, at) => (
            <span key={label} class={`legend line-${at + 1}`}>
              {label}
            </span>
          ))}
      </figcaption>
      <div class="chart" ref={place} aria-hidden="true" />
      <details>
        <summary>{title} as a table</summary>
        <Table name={title} heads={['Time', ...lines.map(({ label }) => label)]}>
          {times.map((time, at) => (
            <tr key={time}>
              <th scope="row">{new Date(time * 1000).toLocaleTimeString(undefined, { hour12: false })}</th>
              {lines.map(({ label, values }) => (
                <td key={label}>{values[at] ?? '–'}</td>
              ))}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}

function optionsFor(element: HTMLElement, lines: readonly Line[]): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--border'), width: 1 } };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    // Beside the last mark its time has room.
    padding: [null, 24, null, null],
    axes: [{ ...axis, values: (_plot, times) => times.map(minute) }, axis],
    scales: { y: { range: (_plot, _least, most) => [0, Math.max(1, most * 1.1)] } },
    series: [
      {},
      ...lines.map(({ label }, at) => ({
        label,
        stroke: colour(COLOURS[at] ?? ''),
        width: 1.5,
        points: {
          show: true,
          size: 4,
          fill: colour(COLOURS[at] ?? ''),
          filter: (plot: uPlot, index: number) => lonePoints(plot.data[index] ?? []),
        },
      })),
    ],
  };
}

/** The points without a line to a neighbour. */
function lonePoints(values: ArrayLike<number | null | undefined>): number[] {
  const isNone = (at: number): boolean => values[at] === null || values[at] === undefined;
  return Array.from(values, (_, at) => at).filter((at) => !isNone(at) && isNone(at - 1) && isNone(at + 1));
}

function minute(time: number): string {
  return new Date(time * 1000).toLocaleTimeString(undefined, {
    hour12: false,
    hour: '2-digit',
    minute: '2-digit',
  });
}
