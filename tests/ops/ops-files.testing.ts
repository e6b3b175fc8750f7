import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { ROOT } from '../documentation/documents.ts';

export const ALERTS_FILE: string = join(ROOT, 'ops/alerts.yaml');

export interface Rule {
  readonly alert?: string;
  readonly record?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function readRules(): readonly Rule[] {
  const { groups }: { readonly groups: readonly { readonly rules: readonly Rule[] }[] } = parse(
    readFileSync(ALERTS_FILE, 'utf8'),
  );
  return groups.flatMap(({ rules }) => rules);
}

interface WrittenPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly description?: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource?: { readonly uid: string };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
  readonly fieldConfig?: { readonly defaults: { readonly unit: string } };
}

export interface WrittenDashboard {
  readonly uid: string;
  readonly panels: readonly WrittenPanel[];
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly query: string; readonly allValue?: string }[];
  };
}

/** As it is in a file under ops/dashboards/. */
export function readDashboard(path: string): WrittenDashboard {
  return JSON.parse(readFileSync(join(ROOT, path), 'utf8'));
}
