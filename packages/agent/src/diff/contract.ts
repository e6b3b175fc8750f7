import type { Capability, CapabilityLimits } from '../capabilities/model.ts';

export type Named<Part> = ReadonlyMap<string, Part>;

/** How the capabilities of a file or of a gateway look to callers. */
export interface Contract {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly capabilities: Named<CapabilityContract>;
  readonly errorCodes: ReadonlySet<string>;
  /** What only a capability file says; `identity` is as it is written. */
  readonly file?: { readonly serviceId?: string; readonly identity?: unknown };
}

export interface CapabilityContract {
  readonly description: string;
  /** The published examples as JSON. */
  readonly examplesJson: string | undefined;
  readonly params: Named<ParamContract>;
  /** In the order of a row. */
  readonly fields: Named<FieldContract>;
  /** Further members of an answer beside `rows`, `count` and `truncated`, with their JSON Schemas. */
  readonly extras: Named<unknown>;
  /** What only a capability file says. */
  readonly file?: CapabilityTerms;
}

export interface CapabilityTerms
  extends CapabilityLimits, Pick<Capability, 'sql' | 'allowFunctions' | 'allowForeignTables'> {
  /** Callable, but neither in `/openapi.json` nor in `tools/list`. */
  readonly isHidden: boolean;
  /** Properties of who calls that a call needs. */
  readonly needs: readonly string[];
  /** The conditions of parameters. */
  readonly filters: Named<string>;
  /** The terms of each order as JSON; that without a name is the only one. */
  readonly orders: Named<string>;
}

export interface ParamContract {
  readonly isRequired: boolean;
  readonly description: string;
  /** As JSON; undefined if there is none. */
  readonly defaultJson: string | undefined;
  readonly value: ValueContract;
}

export interface FieldContract {
  readonly isNullable: boolean;
  readonly description: string;
  readonly value: ValueContract;
}

/** Type and rules of a value. */
export interface ValueContract {
  /** As in the capability file; a type that it does not have is as in the description. */
  readonly type: string;
  readonly lower?: Bound;
  readonly upper?: Bound;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly format?: string;
  /** The values as JSON. */
  readonly enum?: readonly string[];
  readonly items?: ValueContract;
  /** Keywords that are not known here, as JSON. */
  readonly others: Readonly<Record<string, string>>;
}

export interface Bound {
  readonly value: number;
  readonly isExclusive: boolean;
}
