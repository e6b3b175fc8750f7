import type { Capability, ResultType } from '../../../capabilities/model.ts';
import type { StatementDescription } from '../../driver/describe-statement.ts';
import { isReserved } from '../caller-variables.ts';
import type { Refusal } from '../fault-at.ts';
import { namesOfParameters } from '../named-parameters.ts';
import { scanSql, type Lexicon } from '../scanner.ts';

/** Describes a statement that no capability has yet: each of its parameters is proposed as a text. */
export async function describeStatement<Column extends { readonly name: string }>(
  name: string,
  sql: string,
  lexicon: Lexicon,
  columnsOf: (
    capability: Capability,
  ) => Promise<{ readonly ok: true; readonly columns: readonly Column[] } | Refusal>,
  typeOf: (column: Column) => ResultType,
): Promise<StatementDescription> {
  const capability = undeclaredCapability(name, sql, lexicon);
  const described = await columnsOf(capability);
  if (!described.ok) return described;
  const params = capability.params.map((param) => ({
    name: param.name,
    required: param.required,
    schema: param.schema,
  }));
  const fields = described.columns.map((column) => ({
    name: column.name,
    type: typeOf(column),
    nullable: true,
  }));
  return { ok: true, statement: { params, fields } };
}

function undeclaredCapability(name: string, sql: string, lexicon: Lexicon): Capability {
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
