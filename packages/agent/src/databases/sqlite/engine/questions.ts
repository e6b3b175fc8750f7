import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { CapabilityLimits, ParamType, ResultField } from '../../../capabilities/model.ts';

export interface OpenQuestion {
  readonly file: string;
  /** Nobody writes the file while it is open, so SQLite locks nothing and looks for no other files. */
  readonly isImmutable: boolean;
  /** Whether PRAGMAs may read the schema, which queries may not. */
  readonly readsSchema?: boolean;
}

/** Its answer is a `JudgeAnswer<SqliteColumn>`. */
export interface JudgeQuestion {
  readonly text: string;
  readonly allowFunctions: readonly string[];
}

export interface SqliteColumn {
  readonly name: string;
  /** As its table declares it; null for an expression. */
  readonly type: string | null;
}

export interface QueryDefinition {
  readonly text: string;
  readonly allowFunctions: readonly string[];
  /** The types of ?1, ?2 and so on; `cursor` is a value of one, as `cursorText` writes it. */
  readonly params: readonly (ParamType | 'cursor')[];
  readonly fields: readonly FieldDefinition[];
  readonly probes: readonly ValueProbe[];
  /** The fields by which the rows of pages are ordered, and the statement alone; absent without pages. */
  readonly pages?: { readonly fields: readonly string[]; readonly statement: string };
  readonly limits: Pick<CapabilityLimits, 'maxRows' | 'maxBytes' | 'onLimit'>;
}

export type FieldDefinition = Pick<ResultField, 'name' | 'type' | 'nullable'>;
