import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { CapabilityLimits, ParamType } from '../../../capabilities/model.ts';

/** Its answer is an empty object. */
export interface OpenQuestion {
  /** The path of the library. */
  readonly library: string;
  readonly file: string;
  readonly folder: string;
  readonly readFiles: readonly string[];
  readonly memoryBytes: number;
  readonly threads: number;
}

/** Its answer is a `JudgedStatement`. */
export interface JudgeQuestion {
  /** With $1, $2 and so on as placeholders. */
  readonly text: string;
  readonly parameters: number;
  readonly allowFunctions: readonly string[];
}

/** A kind of question beside those of `ASK`. */
export const ASK_PROBE = 6;

/** Asks for the types that DuckDB finds in a judged statement, without running it. Its answer is a `ProbeAnswer`. */
export interface ProbeQuestion {
  readonly text: string;
  /** Values to bind as a call would. With them the statement is planned. */
  readonly bound?: readonly (readonly [type: ParamType, value: unknown])[];
}

export interface ProbeAnswer {
  /** The types of the parameters as DuckDB writes them; null if unknown. */
  readonly types: readonly (string | null)[];
  /** The kind of the error, if there was one. */
  readonly error?: string;
}

export interface DuckdbColumn {
  readonly name: string;
  /** As DuckDB writes it, such as `DECIMAL(5,2)`. */
  readonly type: string;
}

export interface QueryDefinition {
  /** The statement of the capability. Each process judges it again, since the file may have changed. */
  readonly judged: JudgeQuestion;
  /** The SELECT around it: see `wrapSelect`. */
  readonly text: string;
  readonly params: readonly ParamType[];
  readonly probes: readonly ValueProbe[];
  /** Fields that must not be null, by the numbers that the second column of a row gives. */
  readonly required: readonly string[];
  /** Whether rows have what a cursor is made of. */
  readonly hasPages?: true;
  readonly limits: Pick<CapabilityLimits, 'maxRows' | 'maxBytes' | 'onLimit'>;
}
