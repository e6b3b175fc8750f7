import type { CatalogColumn, CatalogTable, ColumnGrant } from '../databases/driver/catalog.ts';
import type { ParamType, ResultType } from '../capabilities/model.ts';

export interface Proposal {
  /** In the order of the catalog. */
  readonly tables: readonly ProposedTable[];
  /** Names of capabilities that are more than were asked for. */
  readonly beyondMax: readonly string[];
  /** What the capabilities read. */
  readonly grants: readonly ColumnGrant[];
}

export interface ProposedTable {
  readonly table: CatalogTable;
  readonly capabilities: readonly ProposedCapability[];
  readonly hiddenColumns: readonly LeftOut[];
  /** Why it gets none at all; undefined where each kind has its own reason. */
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
  /** Where there is no more than one row to give. */
  readonly maxRows?: 1;
  readonly reads: readonly ColumnOf[];
}

export interface ColumnOf {
  readonly table: CatalogTable;
  readonly column: CatalogColumn;
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
}

export interface ProposedField {
  readonly name: string;
  readonly type: ResultType;
  readonly format?: string;
  readonly nullable?: false;
  readonly description?: string;
}
