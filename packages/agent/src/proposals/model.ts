import type { CatalogColumn, CatalogTable, ColumnGrant } from '../databases/driver/catalog.ts';
import type { ParamType, ResultType } from '../capabilities/model.ts';

export interface Proposal {
  readonly tables: readonly ProposedTable[];
  /** Names of capabilities beyond `--max`. */
  readonly beyondMax: readonly string[];
  readonly grants: readonly ColumnGrant[];
}

export interface ProposedTable {
  readonly table: CatalogTable;
  readonly capabilities: readonly ProposedCapability[];
  readonly hiddenColumns: readonly LeftOut[];
  /** Why it gets no capability at all; absent if each kind has its own reason. */
  readonly nothing?: string;
  /** Kinds of capabilities that it does not get. */
  readonly leftOut: readonly LeftOut[];
}

export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

export interface ProposedCapability {
  readonly name: string;
  readonly description: string;
  readonly sql: string;
  readonly params: readonly ProposedParam[];
  readonly result: readonly ProposedField[];
  readonly maxRows?: 1;
  /** Callers choose one; the first is the default. */
  readonly sort?: readonly ProposedOrder[];
  /** The fields of a key, by which callers go on after a page. */
  readonly paging?: readonly string[];
  readonly reads: readonly ColumnOf[];
}

export interface ColumnOf {
  readonly table: CatalogTable;
  readonly column: CatalogColumn;
}

export interface ProposedOrder {
  readonly name: string;
  readonly terms: string;
}

export interface ProposedParam {
  readonly name: string;
  readonly type: ParamType;
  readonly required?: true;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly enum?: readonly string[];
  readonly default?: number;
  readonly description?: string;
  /** A condition that stands in the SQL only if the parameter has a value. */
  readonly filter?: string;
}

export interface ProposedField {
  readonly name: string;
  readonly type: ResultType;
  readonly format?: string;
  readonly nullable?: false;
  readonly description?: string;
}
