import type { Capability } from '../../capabilities/model.ts';
import type { DescribedField, StatementDescription } from '../driver/describe-statement.ts';
import { isReserved } from './caller-variables.ts';
import { namesOfParameters } from './named-parameters.ts';
import { scanSql, type Lexicon } from './scanner.ts';

export function undeclaredCapability(name: string, sql: string, lexicon: Lexicon): Capability {
  const scanned = scanSql(sql, lexicon);
  const names = scanned.ok ? namesOfParameters(scanned.tokens) : [];
  return capabilityOfTexts(
    name,
    sql,
    names.filter((param) => !isReserved(param)),
  );
}

/** A statement as a capability that declares nothing but these parameters, each as a text. */
export function capabilityOfTexts(name: string, sql: string, params: readonly string[]): Capability {
  const position = { line: 1, column: 1 };
  return {
    name,
    description: '',
    sql,
    params: params.map((param) => ({ name: param, required: true, schema: { type: 'string' }, position })),
    result: [],
    limits: { timeoutMs: 1000, maxRows: 1, maxBytes: 2, onLimit: 'truncate' },
    allowFunctions: [],
    allowForeignTables: [],
    exposeInOpenapi: false,
    position,
    sqlPosition: position,
  };
}

export function describedAs(
  { params }: Capability,
  fields: readonly Pick<DescribedField, 'name' | 'type'>[],
): StatementDescription {
  return {
    ok: true,
    statement: {
      params: params.map(({ name, required, schema }) => ({ name, required, schema })),
      fields: fields.map(({ name, type }) => ({ name, type, nullable: true })),
    },
  };
}
