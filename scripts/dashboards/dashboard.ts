import {
  DashboardCursorSync,
  VariableRefresh,
  VariableSort,
  type Dashboard,
  type VariableModel,
} from '@grafana/schema';
import type { Metric } from '@svc/edge';
import { DATASOURCE, lines, type Unplaced } from './panels.ts';
import type { Queries } from './queries.ts';

type Rows = Readonly<Record<string, Readonly<Record<string, Unplaced>>>>;

export interface DashboardParts {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  /** The other dashboard of the two. */
  readonly other: { readonly uid: string; readonly title: string };
  /** Choices besides data source, job and instance: by the label, what to ask Prometheus for its values. */
  readonly choices: Readonly<Record<string, string>>;
  /** A metric that each process has once. */
  readonly anchor: string;
  /** Panels by their titles, by the titles of the rows. */
  readonly rows: Rows;
  readonly queries: Queries;
}

/** As of Grafana 13. */
const SCHEMA_VERSION = 42;
const WIDTH = 24;
/** Grid units of a panel, by its type. */
const SIZES: Readonly<Record<string, { readonly w: number; readonly h: number }>> = {
  stat: { w: 4, h: 4 },
  timeseries: { w: 8, h: 8 },
  'state-timeline': { w: 8, h: 8 },
  table: { w: 24, h: 9 },
};

/** Every metric that no row shows has a panel in a last one, so that what is new is seen as soon as it is there. */
export function renderDashboard(parts: DashboardParts): string {
  const further = parts.queries.unused().map((metric) => [metric.name, furtherPanel(metric, parts.queries)]);
  const last = further.length === 0 ? {} : { Further: Object.fromEntries(further) };
  const dashboard: Dashboard = {
    uid: parts.uid,
    title: parts.title,
    description: parts.description,
    tags: ['svc'],
    schemaVersion: SCHEMA_VERSION,
    editable: false,
    graphTooltip: DashboardCursorSync.Crosshair,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    timezone: 'browser',
    annotations: { list: [] },
    links: [
      {
        type: 'link',
        title: parts.other.title,
        url: `/d/${parts.other.uid}`,
        icon: 'dashboard',
        tooltip: '',
        tags: [],
        asDropdown: false,
        includeVars: false,
        keepTime: true,
        targetBlank: false,
      },
    ],
    templating: { list: variables(parts) },
    panels: place({ ...parts.rows, ...last }),
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}

function furtherPanel({ name, type, labels, help }: Metric, queries: Queries): Unplaced {
  const by = ['instance', ...labels];
  const unit = unitOf(name, type);
  const legend = by.map((label) => `{{${label}}}`).join(' ');
  const query =
    type === 'histogram'
      ? queries.quantile(0.95, name, { by })
      : queries[type === 'counter' ? 'rate' : 'value'](name, { by });
  return lines(unit, help, { [legend]: query });
}

function unitOf(name: string, type: Metric['type']): string {
  if (type === 'counter') return name.endsWith('_bytes_total') ? 'Bps' : 'ops';
  if (name.endsWith('_seconds')) return 's';
  return name.endsWith('_bytes') ? 'bytes' : 'short';
}

function variables({ choices, anchor }: DashboardParts): VariableModel[] {
  const asked = {
    job: { label: 'Job', query: `label_values(${anchor}, job)`, allValue: '.+' },
    instance: { label: 'Instance', query: `label_values(${anchor}{job=~"$job"}, instance)`, allValue: '.+' },
    ...Object.fromEntries(
      Object.entries(choices).map(([label, metric]) => [
        label,
        {
          label: label.charAt(0).toUpperCase() + label.slice(1),
          query: `label_values(${metric}{job=~"$job"}, ${label})`,
          // Where a metric does not have the label, or has it empty, it is meant too.
          allValue: '.*',
        },
      ]),
    ),
  };
  const all = { text: ['All'], value: ['$__all'] };
  return [
    {
      type: 'datasource',
      name: 'datasource',
      label: 'Data source',
      query: 'prometheus',
      refresh: VariableRefresh.onDashboardLoad,
    },
    ...Object.entries(asked).map(([name, { label, query, allValue }]): VariableModel => ({
      type: 'query',
      name,
      label,
      datasource: DATASOURCE,
      query,
      includeAll: true,
      multi: true,
      allValue,
      current: all,
      refresh: VariableRefresh.onTimeRangeChanged,
      sort: VariableSort.naturalAsc,
    })),
  ];
}

/** Rows from the top, their panels from the left. */
function place(rows: Rows): NonNullable<Dashboard['panels']> {
  const placed: NonNullable<Dashboard['panels']> = [];
  let y = 0;
  for (const [rowTitle, panels] of Object.entries(rows)) {
    placed.push({
      type: 'row',
      id: placed.length + 1,
      title: rowTitle,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y: y++, w: WIDTH, h: 1 },
    });
    let x = 0;
    let height = 0;
    for (const [title, panel] of Object.entries(panels)) {
      const { w, h } = SIZES[panel.type] ?? { w: 8, h: 8 };
      if (x + w > WIDTH) {
        y += height;
        x = height = 0;
      }
      const { type, ...rest } = panel;
      placed.push({ type, id: placed.length + 1, gridPos: { x, y, w, h }, title, ...rest });
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
  return placed;
}
