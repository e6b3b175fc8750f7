import type { CapabilityLimits, Param } from '../../../capabilities/model.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { AssembledStatements } from '../../clauses/tokens/assembled.ts';
import type { PreparedCapability } from '../../driver/driver.ts';

/** A parameter in one of its places, with the schema as which it is bound there. */
export interface PlacedParam extends Param {
  /** Its items stand in the parentheses of IN, where the text has a `LIST`. */
  readonly isList?: boolean;
  /** An integer that stands for null, which the place does not take. */
  readonly ifNull?: string;
}

/** How the values of a key are compared: `type` is that of a `KeptColumn`. */
export interface KeyKind {
  readonly field: string;
  readonly type: string;
}

/** A verified capability as plain data. */
export interface PreparedQuery extends PreparedCapability {
  /** The SQL that is sent. `wrapSelect` says which rows it yields; each `LIST` is replaced at each call. */
  readonly text: string;
  /** One for each placeholder, so that a parameter may be there several times. */
  readonly params: readonly PlacedParam[];
  readonly limits: CapabilityLimits;
  /** Their parameters are placeholders of the text. */
  readonly probes: readonly ValueProbe[];
  /** The placeholders of parameters that are full-text searches in boolean mode. */
  readonly searches: readonly number[];
  /** Fields that must not be null, by the numbers that the second column of a row gives. */
  readonly required: readonly string[];
  /** What rows are ordered by where a cursor continues after them; absent without pages. */
  readonly keys?: readonly KeyKind[];
  /** Absent if its statement is always the same; else the text is that with all filters, in the first order. */
  readonly assembled?: AssembledStatements;
  /** Whether rows have a FLOAT, for `writeFloats`. */
  readonly hasFloats: boolean;
  /** Whether it may call stored functions, also in a view. They may change the session. */
  readonly callsOwn: boolean;
  /** Whether the caller is put into variables of the session, for functions. */
  readonly setsCaller: boolean;
}
