import type { MeasuredCase, Slot } from './compare-measure.ts';
import type { ContestantName } from './contestants/contestant.ts';
import { REVISIONS } from './contestants/faces.ts';
import { estimate, median, type Estimate } from './report/statistics.ts';

export type Figure = 'withDatabase' | 'cpu' | 'throughput' | 'p50' | 'p99';

export const FIGURES: Readonly<
  Record<Figure, { readonly title: string; readonly of: (slot: Slot) => number }>
> = {
  withDatabase: {
    title: 'CPU with the database',
    of: ({ cpuMicroseconds, databaseMicroseconds }) => cpuMicroseconds + databaseMicroseconds,
  },
  cpu: { title: 'CPU', of: ({ cpuMicroseconds }) => cpuMicroseconds },
  throughput: { title: 'throughput', of: ({ callsPerSecond }) => callsPerSecond },
  p50: { title: 'p50', of: ({ p50Ms }) => p50Ms },
  p99: { title: 'p99', of: ({ p99Ms }) => p99Ms },
};

/** A workload by one of its APIs. */
export interface Subject {
  readonly workload: string;
  readonly face: string;
  readonly title: string;
}

const point = (connections: number): Subject => ({
  workload: `point-${connections}`,
  face: 'REST',
  title:
    connections === 1 ? 'one row, REST, one call at a time' : `one row, REST, ${connections} connections`,
});
export const POINT_ALONE: Subject = point(1);
export const POINT: Subject = point(32);
export const POINT_MCP: readonly Subject[] = REVISIONS.map((revision) => ({
  workload: 'point-mcp',
  face: `MCP ${revision}`,
  title: `one row, MCP ${revision}, 32 connections`,
}));
export const LIST: Subject = { workload: 'list', face: 'REST', title: '100 rows, REST, 32 connections' };

interface Compared {
  readonly subject: Subject;
  /** The most telling one first. */
  readonly figures: readonly Figure[];
}

/** What leads the page, and what a quiet machine shows alike for two services of the same executables. */
const HEADLINE: readonly Compared[] = [
  { subject: POINT, figures: ['withDatabase', 'cpu', 'throughput'] },
  { subject: POINT_ALONE, figures: ['p50'] },
];
/** In the order of the page. */
export const COMPARED: readonly Compared[] = [
  ...HEADLINE,
  ...[...POINT_MCP, LIST].map((subject) => ({
    subject,
    figures: ['withDatabase', 'cpu', 'throughput'] as const,
  })),
];

/** What one would run instead, then what we were before, in the order of the page. */
export const INSTEAD = ['same-topology', 'toolbox', 'fastify', 'svc-before'] as const;

/** How many times the figure of `to` ours is. */
export interface Ratio extends Subject {
  readonly figure: Figure;
  readonly to: ContestantName;
  readonly measured: Estimate;
}

/** Those of the page, as far as they were measured. */
export function pageRatios(cases: readonly MeasuredCase[]): readonly Ratio[] {
  return ratios(cases, COMPARED, INSTEAD);
}

/** Why figures of this run say nothing; undefined when the machine was quiet. */
export function whyNotQuiet(cases: readonly MeasuredCase[], rounds: number): string | undefined {
  const manyVoid = whyManyVoid(cases, rounds);
  if (manyVoid !== undefined) return manyVoid;
  const different = ratios(cases, HEADLINE, ['svc-again']).find(
    ({ measured: { low, high } }) => low > 1 || high < 1,
  );
  if (different === undefined) return undefined;
  const { title, figure, measured } = different;
  const { low, high } = measured;
  return `${NOT_QUIET}: two services of the same executables differ by ${low.toFixed(2)} to ${high.toFixed(2)} x in ${FIGURES[figure].title}, ${title}`;
}

const NOT_QUIET = 'the machine is not quiet';

/** Undefined when two thirds of the slots count. */
export function whyManyVoid(
  cases: readonly { readonly slots: readonly Pick<Slot, 'isVoid'>[] }[],
  rounds: number,
): string | undefined {
  const all = cases.length * rounds;
  const stayedVoid = all - cases.flatMap(validSlots).length;
  return 3 * stayedVoid > all ? `${NOT_QUIET}: ${stayedVoid} of ${all} slots stayed void` : undefined;
}

function ratios(
  cases: readonly MeasuredCase[],
  compared: readonly Compared[],
  others: readonly ContestantName[],
): readonly Ratio[] {
  return compared.flatMap(({ subject, figures }) =>
    figures.flatMap((figure) =>
      others.flatMap((to) => {
        const [ours, theirs] = (['svc', to] as const).map((name) => findCase(cases, subject, name));
        const measured = ratioOf(figure, ours, theirs);
        return measured === undefined ? [] : [{ ...subject, figure, to, measured }];
      }),
    ),
  );
}

export function findCase(
  cases: readonly MeasuredCase[],
  { workload, face }: Pick<Subject, 'workload' | 'face'>,
  name: ContestantName,
): MeasuredCase | undefined {
  return cases.find((each) => each.workload === workload && each.name === name && each.face === face);
}

/** The slots that count, one a round at most. */
export function validSlots<S extends Pick<Slot, 'isVoid'>>({
  slots,
}: {
  readonly slots: readonly S[];
}): readonly S[] {
  return slots.filter(({ isVoid }) => !isVoid);
}

/** NaN where no slot counts. */
export function medianOf<S extends Pick<Slot, 'isVoid'>>(
  measured: { readonly slots: readonly S[] },
  figure: (slot: S) => number,
): number {
  return median(validSlots(measured).map(figure));
}

/**
 * How many times the other's figure ours is, of the ratios within each round in which both count. Undefined when there is
 * none.
 */
export function ratioOf(
  figure: Figure,
  ours: Pick<MeasuredCase, 'slots'> | undefined,
  other: Pick<MeasuredCase, 'slots'> | undefined,
): Estimate | undefined {
  if (ours === undefined || other === undefined) return undefined;
  return ratioWithinRounds(FIGURES[figure].of, ours.slots, other.slots);
}

export function ratioWithinRounds<S extends Pick<Slot, 'isVoid' | 'round'>>(
  figure: (slot: S) => number,
  ours: readonly S[],
  other: readonly S[],
): Estimate | undefined {
  const others = new Map(validSlots({ slots: other }).map((slot) => [slot.round, figure(slot)]));
  return estimate(
    validSlots({ slots: ours })
      .map((slot) => figure(slot) / (others.get(slot.round) ?? Number.NaN))
      .filter(Number.isFinite),
  );
}

export const LABELS: Readonly<Record<ContestantName, string>> = {
  svc: 'svc',
  'svc-again': 'svc, once more',
  'svc-own': 'svc, own transactions',
  'svc-serve': 'svc serve',
  'svc-before': 'release before',
  'same-topology': 'same topology',
  toolbox: 'MCP Toolbox',
  fastify: 'Fastify + pg',
  'node-http': 'node:http',
  pgbench: 'pgbench',
};

/** Names the API if the workload leaves a choice. */
export function labelOfCase({ name, face }: Pick<MeasuredCase, 'name' | 'face'>): string {
  return face.startsWith('MCP ') ? `${LABELS[name]}, ${face}` : LABELS[name];
}
