import type { ValueProbe } from './value-probes.ts';

/** The index of a parameter of its statement, and what is wrong with its value. */
export type ValueFault = readonly [param: number, mistake: string];

/** Parameters whose values are proven to be at fault, by probes run one after the other. */
export class ProvenFaults {
  readonly #mistakes = new Map<number, string>();

  /** Whether running the probe can tell anything. A value known to be at fault makes it fail anyway. */
  isOpen({ params }: ValueProbe): boolean {
    return !params.some((param) => this.#mistakes.has(param));
  }

  /** `mistake` is undefined if the probe has not failed in the same way as the query. */
  add({ params }: ValueProbe, mistake: string | undefined): void {
    if (mistake !== undefined) for (const param of params) this.#mistakes.set(param, mistake);
  }

  /** In the order of the parameters. */
  get all(): readonly ValueFault[] {
    return [...this.#mistakes].toSorted(([one], [other]) => one - other);
  }
}
