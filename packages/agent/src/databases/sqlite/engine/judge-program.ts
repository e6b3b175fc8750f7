import { words } from '../../sql/words.ts';
import { changingFunctions, knownTableFunctions, problemOfFunction } from './known-functions.ts';
import type { SqliteDatabase } from './node-sqlite.ts';

/**
 * Instructions of compiled statements that read, compute, sort, or fill tables of the statement's own, which end with it.
 * What writes into a table begins with OpenWrite, which is none of them; nor is what changes the schema, the file, the
 * transaction or a setting.
 */
const READING: ReadonlySet<string> = words(`
  Abortable Add AddImm Affinity AggFinal AggInverse AggStep AggStep1 AggValue And BeginSubrtn BitAnd BitNot BitOr
  Blob Cast Close ClrSubtype CollSeq Column ColumnsUsed Compare Concat Copy Count CursorHint CursorLock CursorUnlock
  DecrJumpZero DeferredSeek Delete Divide ElseEq EndCoroutine Eq Explain Filter FilterAdd FinishSeek Found Function
  Ge GetSubtype Gosub Goto Gt Halt IdxDelete IdxGE IdxGT IdxInsert IdxLE IdxLT IdxRowid If IfEmpty IfNoHope IfNot
  IfNotOpen IfNotZero IfNullRow IfPos IfSizeBetween Init InitCoroutine Insert Int64 IntCopy Integer IsNull IsTrue
  IsType Jump Last Le Lt MakeRecord Move Multiply MustBeInt Ne NewRowid Next NoConflict Noop Not NotExists NotFound
  NotNull Null NullRow Offset OffsetLimit Once OpenAutoindex OpenDup OpenEphemeral OpenPseudo OpenRead Or
  Permutation Prev PureFunc Real RealAffinity ReleaseReg Remainder ReopenIdx ResetSorter ResultRow Return Rewind
  RowData Rowid RowSetAdd RowSetRead RowSetTest SCopy SeekEnd SeekGE SeekGT SeekHit SeekLE SeekLT SeekRowid SeekScan
  Sequence SequenceTest SetSubtype ShiftLeft ShiftRight SoftNull Sort SorterCompare SorterData SorterInsert
  SorterNext SorterOpen SorterSort String String8 Subtract TableLock Transaction Variable VColumn VFilter VInitIn
  VNext VOpen Yield ZeroOrNull
`);
const CALLS = words('Function PureFunc AggStep AggStep1 AggInverse AggValue AggFinal');

/** What is wrong with a statement, judged by the program into which SQLite compiles it with the views that it reads. */
export function problemOfProgram(
  database: SqliteDatabase,
  text: string,
  allowFunctions: readonly string[],
): string | undefined {
  // A table function stays one object while the database is open, and the program names it by its address.
  const readingTables = new Set([...knownTableFunctions].flatMap((name) => tablesOf(database, name)));
  for (const { opcode, p2, p4 } of programOf(database, text)) {
    if (!READING.has(opcode)) return 'does more than read: write one plain SELECT';
    if (opcode === 'Transaction' && p2 !== 0) return 'writes: write one plain SELECT';
    if (opcode === 'VOpen' && !readingTables.has(p4)) {
      return 'reads a virtual table, a PRAGMA or statistics of the file, be it in a view: read plain tables, views, json_each and json_tree alone';
    }
    if (!CALLS.has(opcode)) continue;
    const problem = problemOfFunction(calledName(p4), allowFunctions);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Whether a statement calls a function whose answer may differ, be it in a view. */
export function mayDiffer(database: SqliteDatabase, text: string): boolean {
  return programOf(database, text).some(
    ({ opcode, p4 }) => CALLS.has(opcode) && changingFunctions.has(calledName(p4)),
  );
}

/** SQLite writes it with the number of its arguments. */
function calledName(p4: string): string {
  return /^(.*)\(-?\d+\)$/.exec(p4)?.[1]?.toLowerCase() ?? p4;
}

interface Instruction {
  readonly opcode: string;
  readonly p2: number;
  readonly p4: string;
}

function programOf(database: SqliteDatabase, text: string): readonly Instruction[] {
  return database
    .prepare(`explain ${text}`)
    .all()
    .map(({ opcode, p2, p4 }) => ({
      opcode: String(opcode),
      p2: Number(p2),
      p4: typeof p4 === 'string' ? p4 : '',
    }));
}

/** Empty if the file has a table or view of that name, because SQLite reads that instead of the function. */
function tablesOf(database: SqliteDatabase, name: string): readonly string[] {
  const own = `select 1 from sqlite_schema where type in ('table', 'view') and name = '${name}' collate nocase`;
  if (database.prepare(own).get() !== undefined) return [];
  return programOf(database, `select * from ${name}('[]')`).flatMap(({ opcode, p4 }) =>
    opcode === 'VOpen' ? [p4] : [],
  );
}
