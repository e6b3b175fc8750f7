import type { Example } from './example.ts';
import type { Position } from './fault.ts';

export interface ServiceInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
}

/** A capability as the file defines it, with every default applied. */
export interface Capability {
  readonly name: string;
  readonly description: string;
  /** As written, with `:name` parameters. */
  readonly sql: string;
  readonly params: readonly Param[];
  /** In file order, which is the order of fields in a row. */
  readonly result: readonly ResultField[];
  /** For callers who continue after the last row: parameters, each with the field that gives its value. */
  readonly paging?: Readonly<Record<string, string>>;
  /** What its statement is assembled from at each call; absent if its statement is always the same. */
  readonly clauses?: Clauses;
  readonly limits: CapabilityLimits;
  /** Names from `policy.allow_functions`, lower case, optionally schema-qualified. */
  readonly allowFunctions: readonly string[];
  /** From `policy.allow_foreign_tables`, as the database spells them, optionally schema-qualified. */
  readonly allowForeignTables: readonly string[];
  /** The name of the database that it queries, which callers never see; absent if the file has only one, unnamed. */
  readonly database?: string;
  readonly exposeInOpenapi: boolean;
  readonly position: Position;
  readonly sqlPosition: Position;
  readonly examples?: readonly Example[];
}

/** What a statement is assembled from beside the filters of its parameters. */
interface Clauses {
  /** Callers choose one by its name; the first is the default. Empty without `sort` and `paging`. */
  readonly orders: readonly SortOrder[];
  /** Whether callers continue after the last row by `cursor`. */
  readonly hasPages: boolean;
  /** The fields of `paging`. */
  readonly unique: readonly string[];
}

interface SortOrder {
  /** Empty for the only order, which `paging` makes. */
  readonly name: string;
  /** If callers continue by it, no two rows are equal in all of them. */
  readonly terms: readonly SortTerm[];
  readonly position: Position;
}

export interface SortTerm {
  readonly field: string;
  readonly isDescending: boolean;
  /** Absent where the engine decides. */
  readonly nulls?: 'first' | 'last';
}

export interface CapabilityLimits {
  readonly timeoutMs: number;
  readonly maxRows: number;
  /** Of the JSON `rows` array as sent, brackets and commas included. */
  readonly maxBytes: number;
  readonly onLimit: 'truncate' | 'error';
}

export interface Param {
  readonly name: string;
  readonly required: boolean;
  readonly description?: string;
  /** The property of the caller that gives the value, a NEED_PATTERN; absent if callers send the value. */
  readonly from?: string;
  /** A condition that uses it: in the statement where it has a value. */
  readonly filter?: Filter;
  /** Made by the key of this name, not declared: it stands in no SQL. */
  readonly madeBy?: 'sort' | 'paging';
  readonly schema: ParamSchema;
  readonly position: Position;
}

interface Filter {
  readonly sql: string;
  readonly position: Position;
}

export const PARAM_TYPES = [
  'integer',
  'number',
  'string',
  'boolean',
  'date',
  'datetime',
  'uuid',
  'array',
  'object',
] as const;
export type ParamType = (typeof PARAM_TYPES)[number];

/** The types whose values are texts, each in a format of JSON Schema. */
export const TEXT_FORMATS: Readonly<Partial<Record<ParamType, string>>> = {
  date: 'date',
  datetime: 'date-time',
  uuid: 'uuid',
};

/** Type and constraints, with the names and meaning of JSON Schema. */
export interface ParamSchema {
  readonly type: ParamType;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly default?: unknown;
  /** Only for `array`; its type is a scalar. */
  readonly items?: ParamSchema;
}

export const RESULT_TYPES = [
  'integer',
  'number',
  'string',
  'boolean',
  'date',
  'datetime',
  'array',
  'object',
] as const;
export type ResultType = (typeof RESULT_TYPES)[number];

export interface ResultField {
  readonly name: string;
  readonly type: ResultType;
  readonly description?: string;
  readonly format?: string;
  readonly nullable: boolean;
  readonly position: Position;
}
