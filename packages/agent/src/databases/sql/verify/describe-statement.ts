import type { Capability, ResultType } from '../../../capabilities/model.ts';
import type { DescribedField, StatementDescription } from '../../driver/describe-statement.ts';
import { isReserved } from '../caller-variables.ts';
import type { Refusal } from '../fault-at.ts';
import { namesOfParameters } from '../named-parameters.ts';
import { bodyOf } from '../one-select.ts';
import { betweenCommas, findAtLevel, isName, isOperator, isWord } from '../places/tokens.ts';
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
  const plain = plainColumns(sql, lexicon);
  const fields = described.columns.map((column): DescribedField => {
    const written = plain.get(column.name);
    const known = written === undefined ? {} : { column: written };
    return { name: column.name, type: typeOf(column), nullable: true, ...known };
  });
  return { ok: true, statement: { params, fields } };
}

/** The columns that a statement of one SELECT gives as they are, by the names of its fields. */
function plainColumns(sql: string, lexicon: Lexicon): ReadonlyMap<string, string> {
  const scanned = scanSql(sql, lexicon);
  const body = scanned.ok ? bodyOf(scanned.tokens) : [];
  const from = findAtLevel(body, 0, 1, (token) => isWord(token, /^from$/i));
  const isOne = body.filter((token) => isWord(token, /^select$/i)).length === 1;
  if (from === undefined || !isOne || !isWord(body[0], /^select$/i)) return new Map();
  const first = isWord(body[1], /^(?:distinct|all)$/i) ? 2 : 1;
  const columns = betweenCommas(body.slice(first, from)).flatMap((item) => {
    const end = isOperator(item[1], '.') ? 3 : 1;
    const [column, next, alias, ...more] = item.slice(end - 1);
    const name = next === undefined ? column : isWord(next, /^as$/i) && more.length === 0 ? alias : undefined;
    return isName(column) && isName(name) ? [[name.text, column.text] as const] : [];
  });
  return new Map(columns);
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
