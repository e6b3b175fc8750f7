import type { ValueProbe } from './value-probes.ts';

/** A parameter, as an index of those of its statement, and what is wrong with its value. */
export type ValueFault = readonly [param: number, mistake: string];

/** Parameters whose values are proven to be at fault, by probes that are run one after the other. */
export class ProvenFaults {
  readonly #mistakes = new Map<number, string>();

  /** Whether running it can tell anything: what is known to be at fault already makes it fail. */
  isOpen({ params }: ValueProbe): boolean {
    return !params.some((param) => this.#mistakes.has(param));
  }

  /** What a probe has told; undefined where it has not failed as the query has. */
  add({ params }: ValueProbe, mistake: string | undefined): void {
    if (mistake !== undefined) for (const param of params) this.#mistakes.set(param, mistake);
  }

  /** In the order of the parameters. */
  get all(): readonly ValueFault[] {
    return [...this.#mistakes].toSorted(([one], [other]) => one - other);
  }
}
