import { bindValue } from './bind-values.ts';
import { kindOfError } from './failure.ts';
import type { DuckdbConnection, DuckdbStatement } from './library.ts';
import type { ProbeAnswer, ProbeQuestion } from './questions.ts';

/** Which types DuckDB finds for parameters, and whether it takes the types that values are bound as. Nothing runs. */
export async function probeStatement(
  connection: DuckdbConnection,
  { text, bound = [] }: ProbeQuestion,
): Promise<ProbeAnswer> {
  let statement: DuckdbStatement | undefined;
  try {
    statement = await connection.prepare(bound.length === 0 ? text : `explain ${text}`);
    const types = typesOf(statement);
    for (const [index, [type, value]] of bound.entries()) bindValue(statement, index + 1, type, value);
    if (bound.length > 0) await statement.runAndReadAll();
    return { types };
  } catch (error) {
    return { types: [], error: kindOfError(error) };
  } finally {
    statement?.destroySync();
  }
}

function typesOf(statement: DuckdbStatement): readonly (string | null)[] {
  return Array.from({ length: statement.parameterCount }, (_, index) =>
    statement.parameterTypeId(index + 1) === 0 ? null : statement.parameterType(index + 1).toString(),
  );
}
