import type { Param } from '../../../capabilities/model.ts';
import type { PreparedCapability } from '../../driver.ts';
import type { QueryDefinition } from '../engine/questions.ts';

/** A capability whose SQL has passed every check: what verification leaves for the calls, as plain data. */
export interface PreparedQuery extends PreparedCapability {
  readonly definition: QueryDefinition;
  /** In the order of ?1, ?2 and so on; those that say who calls are among them. */
  readonly params: readonly Param[];
}
