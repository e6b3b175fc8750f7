import { readable } from './statistics.ts';

export interface BarGroup {
  readonly title: string;
  readonly bars: readonly Bar[];
}

interface Bar {
  readonly label: string;
  readonly value: number;
  /** A second part of the bar, in a lighter colour; default 0. */
  readonly more?: number;
  readonly ours?: boolean;
}

export interface BarChart {
  readonly title: string;
  readonly axis: string;
  readonly parts?: readonly [string, string];
  readonly groups: readonly BarGroup[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Series {
  readonly label: string;
  /** By rising `x`. */
  readonly points: readonly Point[];
}

export interface LineChart {
  readonly title: string;
  readonly xAxis: string;
  readonly yAxis: string;
  /** With `log` every `x` must be above 0. */
  readonly xScale: 'linear' | 'log';
  readonly series: readonly Series[];
}

const WIDTH = 820;
const MARGIN = 24;
/** Room for a character of a label; fonts differ. */
const LETTER = 7.5;
const INK = '#24292f';
const FAINT = '#d0d7de';
const COLOURS = ['#0b65c2', '#b35900', '#1a7f37', '#8250df', '#a40e26', '#57606a'];
/** Of bars: what is ours, what is not; each with that of the second part. */
const OURS = { dark: '#0b65c2', light: '#9cc2e7' };
const OTHERS = { dark: '#6e7781', light: '#c8cdd3' };

/** An SVG document: horizontal bars from 0, in titled groups, each with its value. */
export function barChart({ title, axis, parts: names, groups }: BarChart): string {
  const labels = Math.max(...groups.flatMap(({ bars }) => bars.map(({ label }) => label.length)), 0) * LETTER;
  const [bar, gap, head] = [20, 5, 34];
  const left = MARGIN + labels + 8;
  const room = WIDTH - left - MARGIN - (names === undefined ? 60 : 110);
  const most = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value, more = 0 }) => value + more)), 0);
  const scale = ticks(most);
  const across = (value: number): number => left + (value / scale.end) * room;
  const parts = names === undefined ? [] : [legend(names)];
  const top = names === undefined ? 60 : 82;
  let y = top + 4;
  for (const group of groups) {
    parts.push(text(MARGIN, y + 18, group.title, 'bold'));
    y += head;
    for (const { label, value, more = 0, ours = false } of group.bars) {
      const [middle, end] = [across(value), across(value + more)];
      const { dark, light } = ours ? OURS : OTHERS;
      const figures =
        more === 0 ? readable(value) : `${readable(Math.round(value))} + ${readable(Math.round(more))}`;
      parts.push(
        text(left - 8, y + 15, label, 'end'),
        `<rect x="${round(left)}" y="${y}" width="${round(Math.max(middle - left, 1))}" height="${bar}" fill="${dark}"/>`,
        `<rect x="${round(middle)}" y="${y}" width="${round(end - middle)}" height="${bar}" fill="${light}"/>`,
        text(end + 6, y + 15, figures, ours ? 'bold' : 'plain'),
      );
      y += bar + gap;
    }
  }
  const bottom = y + 6;
  const grid = scale.at.map(
    (value) =>
      line(across(value), top, across(value), bottom, FAINT) +
      text(across(value), bottom + 16, readable(value), 'middle'),
  );
  const caption = text(left + room / 2, bottom + 36, axis, 'middle');
  return svg(bottom + 52, title, [...grid, ...parts, caption]);
}

/** Below the title: the meaning of the dark and the light colour. */
function legend([first, second]: readonly [string, string]): string {
  const entry = (x: number, part: 'dark' | 'light', name: string): string => {
    const box = [OURS, OTHERS].map(
      (colours, at) =>
        `<rect x="${round(x + at * 12)}" y="50" width="12" height="12" fill="${colours[part]}"/>`,
    );
    return box.join('') + text(x + 32, 61, name, 'plain');
  };
  return entry(MARGIN, 'dark', first) + entry(MARGIN + 60 + first.length * LETTER, 'light', second);
}

/** An SVG document: one line per series with a legend below the title; the y axis starts at 0. */
export function lineChart({ title, xAxis, yAxis, xScale, series }: LineChart): string {
  const [left, right, top] = [MARGIN + 60, WIDTH - MARGIN - 20, 66 + 20 * series.length];
  const height = 300;
  const floor = top + height;
  const points = series.flatMap((each) => each.points);
  const xs = [...new Set(points.map(({ x }) => x))].toSorted((a, b) => a - b);
  const place = (x: number): number => (xScale === 'log' ? Math.log10(x) : x);
  const first = place(xs[0] ?? 1);
  const width = place(xs.at(-1) ?? 1) - first || 1;
  const scale = ticks(Math.max(...points.map(({ y }) => y), 0));
  const across = (x: number): number => left + ((place(x) - first) / width) * (right - left);
  const up = (y: number): number => floor - (y / scale.end) * height;
  const rows = scale.at.map(
    (y) => line(left, up(y), right, up(y), FAINT) + text(left - 8, up(y) + 4, readable(y), 'end'),
  );
  const columns = xs.map(
    (x) =>
      line(across(x), floor, across(x), floor + 5, INK) + text(across(x), floor + 20, readable(x), 'middle'),
  );
  const lines = series.map(({ label, points: own }, at) => {
    const colour = COLOURS[at % COLOURS.length] ?? INK;
    const path = own.map(({ x, y }) => `${round(across(x))},${round(up(y))}`).join(' ');
    const dots = own.map(
      ({ x, y }) => `<circle cx="${round(across(x))}" cy="${round(up(y))}" r="3.5" fill="${colour}"/>`,
    );
    const legend = `<rect x="${left}" y="${52 + at * 20}" width="18" height="4" fill="${colour}"/>`;
    return (
      `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}` +
      legend +
      text(left + 26, 59 + at * 20, label, 'plain')
    );
  });
  const axes = line(left, floor, right, floor, INK) + line(left, top, left, floor, INK);
  const captions =
    text((left + right) / 2, floor + 42, xAxis, 'middle') +
    `<g transform="rotate(-90 ${MARGIN} ${top + height / 2})">${text(MARGIN, top + height / 2, yAxis, 'middle')}</g>`;
  return svg(floor + 58, title, [...rows, ...columns, axes, ...lines, captions]);
}

/** Round numbers from 0 to at least `most`. */
function ticks(most: number): { readonly at: readonly number[]; readonly end: number } {
  if (!(most > 0)) return { at: [0, 1], end: 1 };
  const power = 10 ** Math.floor(Math.log10(most / 4));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((each) => most / each <= 5) ?? most;
  const count = Math.ceil(most / step - 1e-9);
  return { at: Array.from({ length: count + 1 }, (_, at) => at * step), end: count * step };
}

/** On white, with dark ink: the same picture on light and on dark pages. */
function svg(height: number, title: string, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${round(height)}" width="${WIDTH}" height="${round(height)}" role="img" font-family="system-ui, Helvetica, Arial, sans-serif" font-size="13" fill="${INK}">
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="${MARGIN}" y="34" font-size="17" font-weight="600">${escaped(title)}</text>
${parts.join('\n')}
</svg>
`;
}

type TextStyle = 'plain' | 'bold' | 'middle' | 'end';

/** White around the letters, so that they can be read across lines. */
const CLEAR = ' stroke="#ffffff" stroke-width="4" paint-order="stroke"';

const STYLES: Readonly<Record<TextStyle, string>> = {
  plain: CLEAR,
  bold: ` font-weight="600"${CLEAR}`,
  middle: ' text-anchor="middle"',
  end: ' text-anchor="end"',
};

function text(x: number, y: number, content: string, style: TextStyle): string {
  return `<text x="${round(x)}" y="${round(y)}"${STYLES[style]}>${escaped(content)}</text>`;
}

function line(x1: number, y1: number, x2: number, y2: number, colour: string): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${colour}"/>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
