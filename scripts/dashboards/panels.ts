import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueJustifyMode,
  BigValueTextMode,
  FieldColorModeId,
  LegendDisplayMode,
  MappingType,
  PercentChangeColorMode,
  SortOrder,
  TableCellHeight,
  ThresholdsMode,
  TooltipDisplayMode,
  VisibilityMode,
  VizOrientation,
  type FieldConfig,
  type Panel,
} from '@grafana/schema';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type {
  FieldConfig as StateFieldConfig,
  Options as StateOptions,
} from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type { Options as TableOptions } from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type {
  FieldConfig as LineFieldConfig,
  Options as LineOptions,
} from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

/** A panel without its title and place. */
export type Unplaced = Omit<Panel, 'id' | 'gridPos' | 'title'>;

/** From which value on each colour counts; below the first it is green, or red where green is one of them. */
type Colours = Readonly<Partial<Record<'orange' | 'red' | 'green', number>>>;

/** By the name of the series, an expression; `{{label}}` in a name is the value of the label. */
type Series = Readonly<Record<string, string>>;

export const DATASOURCE = { type: 'prometheus', uid: '${datasource}' };
const REF_IDS = 'ABCDEFGH';

/**
 * One number, or one for each series. As for every panel, `unit` is a name of Grafana (`short` is a plain number), and
 * `description` says what the panel shows and what to do when it is not as it should be.
 */
export function stat(unit: string, description: string, series: Series, colours: Colours = {}): Unplaced {
  const options: StatOptions = {
    reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
    orientation: VizOrientation.Auto,
    colorMode: BigValueColorMode.Value,
    graphMode: BigValueGraphMode.Area,
    justifyMode: BigValueJustifyMode.Auto,
    textMode: BigValueTextMode.Auto,
    wideLayout: true,
    showPercentChange: false,
    percentChangeColorMode: PercentChangeColorMode.Standard,
  };
  return panel('stat', unit, description, options, targets(series), {}, colours);
}

/** Lines over time. */
export function lines(unit: string, description: string, series: Series): Unplaced {
  const options: LineOptions = {
    legend: {
      calcs: ['lastNotNull', 'max'],
      displayMode: LegendDisplayMode.Table,
      placement: 'bottom',
      showLegend: true,
    },
    tooltip: { mode: TooltipDisplayMode.Multi, sort: SortOrder.Descending },
  };
  const custom: LineFieldConfig = { fillOpacity: 10, lineWidth: 1, spanNulls: false };
  return panel('timeseries', unit, description, options, targets(series), {
    min: 0,
    color: { mode: FieldColorModeId.PaletteClassic },
    custom: { ...custom },
  });
}

/** What is so or not over time: one row for each series, whose value is 1 or 0. */
export function states(
  description: string,
  series: Series,
  words: { readonly one: string; readonly zero: string; readonly good: 'one' | 'zero' },
): Unplaced {
  const options: StateOptions = {
    legend: { calcs: [], displayMode: LegendDisplayMode.List, placement: 'bottom', showLegend: false },
    tooltip: { mode: TooltipDisplayMode.Single, sort: SortOrder.None },
    mergeValues: true,
    rowHeight: 0.9,
    showValue: VisibilityMode.Auto,
  };
  const color = (word: 'one' | 'zero'): string => (words.good === word ? 'green' : 'red');
  const custom: StateFieldConfig = { fillOpacity: 70, lineWidth: 0 };
  const fields: FieldConfig = {
    mappings: [
      {
        type: MappingType.ValueToText,
        options: {
          0: { text: words.zero, color: color('zero'), index: 0 },
          1: { text: words.one, color: color('one'), index: 1 },
        },
      },
    ],
    custom: { ...custom },
  };
  return panel('state-timeline', 'none', description, options, targets(series), fields);
}

/** One row for each value of the label, and a column for each expression, with its unit. */
export function rows(
  description: string,
  label: string,
  columns: Readonly<Record<string, readonly [expression: string, unit: string]>>,
): Unplaced {
  const all = Object.entries(columns);
  const options: TableOptions = {
    frameIndex: 0,
    showHeader: true,
    cellHeight: TableCellHeight.Sm,
    sortBy: [{ displayName: all[0]?.[0] ?? '', desc: true }],
  };
  const made = panel(
    'table',
    'short',
    description,
    options,
    targets(Object.fromEntries(all.map(([name, [expression]]) => [name, expression]))).map((target) => ({
      ...target,
      format: 'table',
      instant: true,
      range: false,
    })),
    { custom: { align: 'auto', inspect: false } },
  );
  const names = Object.fromEntries(all.map(([name], at) => [`Value #${REF_IDS[at]}`, name]));
  return {
    ...made,
    transformations: [
      { id: 'merge', options: {} },
      {
        id: 'organize',
        options: { excludeByName: { Time: true }, indexByName: { [label]: 0 }, renameByName: names },
      },
    ],
    fieldConfig: {
      defaults: made.fieldConfig?.defaults ?? {},
      overrides: all.map(([name, [, unit]]) => ({
        matcher: { id: 'byName', options: name },
        properties: [{ id: 'unit', value: unit }],
      })),
    },
  };
}

function panel(
  type: string,
  unit: string,
  description: string,
  options: object,
  queries: readonly Readonly<Record<string, unknown>>[],
  fields: FieldConfig,
  colours: Colours = {},
): Unplaced {
  const steps = Object.entries(colours).map(([color, value]) => ({ color, value }));
  return {
    type,
    description,
    datasource: DATASOURCE,
    targets: [...queries],
    options: { ...options },
    fieldConfig: {
      defaults: {
        unit,
        noValue: '-',
        thresholds: {
          mode: ThresholdsMode.Absolute,
          steps: [{ color: 'green' in colours ? 'red' : 'green', value: null }, ...steps],
        },
        ...fields,
      },
      overrides: [],
    },
  };
}

function targets(series: Series): readonly Readonly<Record<string, unknown>>[] {
  return Object.entries(series).map(([name, expression], at) => ({
    datasource: DATASOURCE,
    refId: REF_IDS[at],
    expr: expression,
    legendFormat: name,
    range: true,
  }));
}
