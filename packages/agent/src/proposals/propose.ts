import type { Catalog, CatalogColumn, CatalogTable, ColumnGrant } from '../databases/driver/catalog.ts';
import { nameGiver, slugOf } from './capability-names.ts';
import { listDrafts } from './from-catalog/lists.ts';
import { getDrafts, type Draft, type Drafts } from './from-catalog/lookups.ts';
import type { LeftOut, Proposal, ProposedTable } from './model.ts';
import { sensitivityOf } from './personal-columns.ts';
import { countDrafts, searchDrafts } from './from-catalog/surveys.ts';
import { tablePartsOf, type TableParts } from './from-catalog/table-parts.ts';

export interface ProposalOptions {
  /** Whether a table gets capabilities. */
  readonly chosen: (table: CatalogTable) => boolean;
  /** Whether a column is wanted although it looks personal. */
  readonly included: (table: CatalogTable, column: CatalogColumn) => boolean;
  readonly max: number;
  /** SQL that says whether a text column holds the text of a parameter. */
  readonly contains: (column: string, param: string) => string;
}

/**
 * Characters that are invisible or change how others are shown, except line breaks. A person reads the statements before
 * running them, often on a terminal, which obeys some of these characters.
 */
const UNSEEN = /[^\P{Cc}\n]|[\p{Bidi_Control}\p{Zl}\p{Zp}]/u;
const UNSEEN_REASON = 'its name has characters that cannot be seen';
/** Room for the longest word before the name of a table. */
const TABLE_SLUG_MAX = 41;

/** Decides from the catalog alone which capabilities a database gets. */
export function propose(catalog: Catalog, options: ProposalOptions): Proposal {
  const tables = catalog.tables.filter(options.chosen);
  const isSeen = ({ sql }: CatalogTable): boolean => !UNSEEN.test(sql);
  const readable = tables.filter((table) => isSeen(table) && table.unreadable === undefined);
  const byName = new Map(readable.map((table) => [keyOf(table.schema, table.name), table]));
  const hidden = new Map(tables.map((table) => [table, hiddenColumns(table, options)]));
  const slugs = tableSlugs(tables);
  const hiddenIn = (table: CatalogTable): readonly LeftOut[] => hidden.get(table) ?? [];
  const find = (schema: string, name: string): CatalogTable | undefined => byName.get(keyOf(schema, name));
  const giveName = nameGiver();
  const drafted = tables.map((table) => {
    const parts = tablePartsOf(table, slugs.get(table) ?? '', hiddenIn, find);
    const nothing = isSeen(table) ? (unreadable(table) ?? whyNothing(parts)) : UNSEEN_REASON;
    const all: Drafts =
      nothing === undefined
        ? [
            ...getDrafts(parts),
            ...listDrafts(parts),
            ...searchDrafts(parts, options.contains),
            ...countDrafts(parts),
          ]
        : [];
    const drafts = all.filter((draft) => 'wave' in draft);
    return {
      table,
      hiddenColumns: parts.hidden,
      ...(nothing === undefined ? {} : { nothing }),
      drafts: drafts.map((draft) => ({ ...draft, name: giveName(draft.name) })),
      leftOut: all.filter((draft) => 'reason' in draft),
    };
  });
  const kept = new Set(mostUseful(tables, drafted, options.max));
  const proposed = drafted.map(({ drafts, ...table }): ProposedTable => ({
    ...table,
    capabilities: drafts.filter((draft) => kept.has(draft)),
  }));
  const beyondMax = drafted.flatMap(({ drafts }) => drafts.filter((draft) => !kept.has(draft)));
  return {
    tables: proposed,
    beyondMax: beyondMax.map(({ name }) => name),
    grants: grantsFor(tables, proposed),
  };
}

/** The reason may name another table, whose name may have characters that cannot be seen. */
function unreadable({ unreadable: reason }: CatalogTable): string | undefined {
  return reason !== undefined && UNSEEN.test(reason) ? UNSEEN_REASON : reason;
}

/** Why a table gets nothing: callers would learn only that its rows exist. */
function whyNothing({ table, columns, hidden, parents }: TableParts): string | undefined {
  if (columns.size === 0) return 'no column is left to give';
  const isKey = table.keys.some((key) => [...columns.keys()].every((name) => key.columns.includes(name)));
  const tellsMore = parents.length > 0 || columns.size > 1;
  return hidden.length > 0 && isKey && !tellsMore ? 'only its key is left to give' : undefined;
}

function keyOf(schema: string, name: string): string {
  return JSON.stringify([schema, name]);
}

function hiddenColumns(table: CatalogTable, { included }: ProposalOptions): readonly LeftOut[] {
  return table.columns.flatMap((column): LeftOut[] => {
    const { name, kind, type, typeSchema = '' } = column;
    if (UNSEEN.test(name + typeSchema)) return [{ name, reason: UNSEEN_REASON }];
    const found = included(table, column) ? undefined : sensitivityOf({ ...column, table: table.name });
    if (found !== undefined) {
      const what = found.kind === 'credential' ? 'looks secret' : 'looks personal';
      return [{ name, reason: `${what}: ${found.because}` }];
    }
    return kind === 'opaque' ? [{ name, reason: `${type} makes no sense to callers` }] : [];
  });
}

/** If tables of several schemas have one name, the slug of each outside `public` begins with its schema. */
function tableSlugs(tables: readonly CatalogTable[]): ReadonlyMap<CatalogTable, string> {
  const counts = new Map<string, number>();
  for (const { name } of tables) counts.set(slugOf(name), (counts.get(slugOf(name)) ?? 0) + 1);
  const giveName = nameGiver(TABLE_SLUG_MAX);
  // Tables whose name needs no change get theirs first.
  const rank = ({ schema, name }: CatalogTable): number =>
    Number(schema !== 'public') + Number(slugOf(name) !== name);
  return new Map(
    tables
      .toSorted((a, b) => rank(a) - rank(b))
      .map((table) => {
        const slug = slugOf(table.name);
        const isShared = (counts.get(slug) ?? 0) > 1 && table.schema !== 'public';
        return [table, giveName(isShared ? `${slugOf(table.schema)}_${slug}` : slug)];
      }),
  );
}

/** Lookups before surveys; among each, tables that other tables refer to first. */
function mostUseful(
  tables: readonly CatalogTable[],
  drafted: readonly { readonly table: CatalogTable; readonly drafts: readonly Draft[] }[],
  max: number,
): readonly Draft[] {
  const referred = new Map<string, number>();
  for (const { schema, table } of tables.flatMap(({ foreignKeys }) => foreignKeys)) {
    const key = keyOf(schema, table);
    referred.set(key, (referred.get(key) ?? 0) + 1);
  }
  return drafted
    .flatMap(({ table, drafts }) =>
      drafts.map((draft) => ({ draft, weight: referred.get(keyOf(table.schema, table.name)) ?? 0 })),
    )
    .toSorted((a, b) => a.draft.wave - b.draft.wave || b.weight - a.weight)
    .slice(0, max)
    .map(({ draft }) => draft);
}

function grantsFor(
  tables: readonly CatalogTable[],
  proposed: readonly ProposedTable[],
): readonly ColumnGrant[] {
  const reads = proposed.flatMap(({ capabilities }) => capabilities.flatMap((each) => each.reads));
  return tables.flatMap((table): ColumnGrant[] => {
    const read = new Set(reads.flatMap((one) => (one.table === table ? [one.column] : [])));
    return read.size === 0 ? [] : [{ table, columns: table.columns.filter((column) => read.has(column)) }];
  });
}
