import type { AuthoredCapability, AuthorFault, AuthorFinding } from '@svc/console/data';
import type { Capability, SortTerm } from '../../capabilities/model.ts';
import { holdsBigInt } from '../../capabilities/values/json-text.ts';
import { wordsOf, type VerificationFault } from '../../databases/driver/errors.ts';
import type { Finding } from '../../lint/finding.ts';
import { sourceExcerpt } from '../source-excerpt.ts';

/** Of faults and findings: an author fixes the first ones first. */
export const SHOWN_MAX = 200;

export function faultOf(fault: VerificationFault, content: Uint8Array | undefined): AuthorFault {
  const { path, message, position } = fault;
  return {
    path,
    message,
    ...position,
    detail: wordsOf(fault),
    excerpt: sourceExcerpt(content, path, position),
  };
}

export function findingOf({ rule, level, path, message, position }: Finding): AuthorFinding {
  return { rule, level, path, message, ...position };
}

/** A capability with every default. */
export function capabilityOf(capability: Capability): Omit<AuthoredCapability, 'plan'> {
  const { name, description, sql, position, sqlPosition, params, result, limits, examples } = capability;
  const orders = (capability.clauses?.orders ?? []).filter((order) => order.name !== '');
  return {
    name,
    line: position.line,
    description,
    sql,
    sql_line: sqlPosition.line,
    params: params.map((param) => ({
      name: param.name,
      required: param.required,
      description: param.description,
      from: param.from,
      filter: param.filter?.sql,
      schema: { ...param.schema },
    })),
    ...(orders.length > 0 && {
      orders: Object.fromEntries(orders.map((order) => [order.name, order.terms.map(textOf).join(', ')])),
    }),
    result: result.map((field) => ({
      name: field.name,
      type: field.format ?? field.type,
      nullable: field.nullable,
      description: field.description,
    })),
    limits: {
      timeout_ms: limits.timeoutMs,
      max_rows: limits.maxRows,
      max_bytes: limits.maxBytes,
      on_limit: limits.onLimit,
    },
    examples: (examples ?? []).map((example) => ({
      line: example.position.line,
      params: withTexts(example.params),
      expect: withTexts({ ...example.expect }),
    })),
  };
}

function textOf({ field, isDescending, nulls }: SortTerm): string {
  return `${field} ${isDescending ? 'desc' : 'asc'}${nulls === undefined ? '' : ` nulls ${nulls}`}`;
}

/** Integers beyond 2^53 become texts: `JSON.stringify` takes no BigInt, and browsers would round the number. */
function withTexts(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!holdsBigInt(values)) return values;
  return JSON.parse(
    JSON.stringify(values, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
  );
}
