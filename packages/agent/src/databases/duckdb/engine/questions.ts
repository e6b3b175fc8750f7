import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { CapabilityLimits, ParamType } from '../../../capabilities/model.ts';

/** Its answer is an empty object. */
export interface OpenQuestion {
  /** Of the library, as Node.js loads it. */
  readonly library: string;
  readonly file: string;
  readonly folder: string;
  readonly readFiles: readonly string[];
  readonly memoryBytes: number;
  readonly threads: number;
}

/** Its answer is a `JudgedStatement`. */
export interface JudgeQuestion {
  /** With $1, $2 and so on for its parameters. */
  readonly text: string;
  readonly parameters: number;
  readonly allowFunctions: readonly string[];
}

/** A kind of question beside those of `ASK`. */
export const ASK_PROBE = 6;

/** Asks what DuckDB makes of a statement that has been judged, without running it. Its answer is a `ProbeAnswer`. */
export interface ProbeQuestion {
  readonly text: string;
  /** What to bind, as a call would: then the statement is planned with it. */
  readonly bound?: readonly (readonly [type: ParamType, value: unknown])[];
}

export interface ProbeAnswer {
  /** Of its parameters, as DuckDB writes them; null for one that it cannot tell. */
  readonly types: readonly (string | null)[];
  /** The kind of the error, where there was one. */
  readonly error?: string;
}

export interface DuckdbColumn {
  readonly name: string;
  /** As DuckDB writes it, such as `DECIMAL(5,2)`, or `JSON`. */
  readonly type: string;
}

export interface QueryDefinition {
  /** That of the capability, to be judged again in each process: the file may be another by then. */
  readonly judged: JudgeQuestion;
  /** The SELECT around it: see `wrapSelect`. */
  readonly text: string;
  readonly params: readonly ParamType[];
  readonly probes: readonly ValueProbe[];
  /** Fields that must not be null, by the numbers that the second column of a row gives. */
  readonly required: readonly string[];
  readonly limits: Pick<CapabilityLimits, 'maxRows' | 'maxBytes' | 'onLimit'>;
}
