import type { ParamSchema, ResultType } from '../../capabilities/model.ts';
import type { VerificationFault } from './errors.ts';

/** What a database tells of a statement that no capability has yet: enough to declare its parameters and its rows. */
export interface DescribedStatement {
  /** In the order of their first use. */
  readonly params: readonly DescribedParam[];
  /** In the order of the columns. */
  readonly fields: readonly DescribedField[];
}

export interface DescribedParam {
  readonly name: string;
  readonly schema: ParamSchema;
  /** False if the statement asks whether the caller has sent it. */
  readonly required: boolean;
}

export interface DescribedField {
  readonly name: string;
  readonly type: ResultType;
  readonly format?: string;
  /** False only if it is never null. */
  readonly nullable: boolean;
  /** The column of a table that it is as it stands there; absent if it is something else, or if that is not known. */
  readonly column?: string;
}

export type StatementDescription =
  | { readonly ok: true; readonly statement: DescribedStatement }
  | { readonly ok: false; readonly faults: readonly VerificationFault[] };
