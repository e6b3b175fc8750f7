import type { CapabilityLimits, Param } from '../../../capabilities/model.ts';
import type { ValueProbe } from '../../sql/probes/value-probes.ts';
import type { PreparedCapability } from '../../driver/driver.ts';

/** A parameter as it is bound in one of its places, with the schema that this place has for it. */
export interface PlacedParam extends Param {
  /** Its items stand in the parentheses of IN, where the text has a `LIST`. */
  readonly isList?: boolean;
  /** An integer that stands for null, which the place does not take. */
  readonly ifNull?: string;
}

/** A capability whose SQL has passed every check: what verification leaves for the calls, as plain data. */
export interface PreparedQuery extends PreparedCapability {
  /** What is sent: see `wrapSelect` for the rows that it yields, and `LIST` for what is replaced at each call. */
  readonly text: string;
  /** In the order of the placeholders; one that stands in several places is there as often. */
  readonly params: readonly PlacedParam[];
  readonly limits: CapabilityLimits;
  /** Their parameters are placeholders of the text. */
  readonly probes: readonly ValueProbe[];
  /** The placeholders of parameters that are full-text searches in boolean mode. */
  readonly searches: readonly number[];
  /** Fields that must not be null, by the numbers that the second column of a row gives. */
  readonly required: readonly string[];
  /** Whether rows have a FLOAT, for `writeFloats`. */
  readonly hasFloats: boolean;
  /** Whether it may call functions that somebody has made, be it in a view, which may change the session. */
  readonly callsOwn: boolean;
  /** Whether a function may read who calls, which is then in variables of the session. */
  readonly setsCaller: boolean;
}
