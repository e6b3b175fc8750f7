import { parseSync } from 'libpg-query';
import { DatabaseError } from '../../../driver/errors.ts';
import type { Rows } from '../../connection/statement.ts';
import { PIN_SEARCH_PATH, runOwnStatements } from '../../execute/own-statements.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import type { DependencyCatalog } from '../functions/dependency-catalog.ts';
import type { QualifiedName } from '../statement/inspect.ts';
import { namedObjects, type NamedObjects } from '../statement/named-objects.ts';
import { COLLATIONS, FOR_ALL, OBJECT_KINDS, objectsStatement, type ObjectKind } from './blind-queries.ts';

export interface FunctionFacts {
  readonly schema: string;
  /** Whether it is PostgreSQL's own since initdb. */
  readonly isInitial: boolean;
  readonly fewest: number;
  /** Infinite if it is variadic. */
  readonly most: number;
  /** Whether it is IMMUTABLE, or what a cast of PostgreSQL's own calls. */
  readonly isSteady: boolean;
  /** Whether it takes or gives a type such as regclass, whose input and output depend on the search path. */
  readonly namesObjects: boolean;
  readonly searchesText: boolean;
  /** Of each argument whether it takes values of PostgreSQL's own types. */
  readonly takesOwn: readonly boolean[];
}

export interface OperatorFacts {
  readonly schema: string;
  readonly isPrefix: boolean;
  readonly leftTakesOwn: boolean;
  readonly rightTakesOwn: boolean;
  /** Whether an operator of PostgreSQL's own is taken rather than this one if an operand has no type. */
  readonly givesWay: boolean;
}

export interface TypeFacts {
  readonly schema: string;
  readonly isBlind: boolean;
}

export interface RelationFacts {
  readonly oid: string;
  readonly schema: string;
  readonly name: string;
  /** Whether it is a table or materialized view without children, and neither temporary nor the system's. */
  readonly isPlain: boolean;
  readonly hasRowSecurity: boolean;
  /** Whether its indexes, checks or statistics call something of the database's own. */
  readonly callsOwn: boolean;
  /** Whether a cast or operator class of the database's own serves its rows or arrays of them. */
  readonly isRowServed: boolean;
  /** Columns whose types are not blind. */
  readonly otherColumns: readonly string[];
}

interface ForAll {
  /** The account. */
  readonly user: string;
  readonly isReadCommitted: boolean;
  readonly mayGuard: boolean;
  /** Whether casts or operator classes of the database's own serve PostgreSQL's own types. */
  readonly extendsTypes: boolean;
  /** Collations on the account's path, beside PostgreSQL's own. */
  readonly collations: ReadonlySet<string>;
  /** The names of all of PostgreSQL's own operators. */
  readonly operators: ReadonlySet<string>;
}

/** What has to be known of the objects that statements name, to tell whether they can see who calls. */
export class BlindCatalog {
  readonly #pool: SessionPool;
  readonly #names: DependencyCatalog;
  #forAll: ForAll | undefined;
  #isReadable = true;
  readonly #functions = new Map<string, FunctionFacts>();
  readonly #operators = new Map<string, OperatorFacts>();
  readonly #types = new Map<string, TypeFacts>();
  readonly #relations = new Map<string, RelationFacts>();
  readonly #asked = new Set<string>();

  /** `names` tells what a name can stand for. */
  constructor(pool: SessionPool, names: DependencyCatalog) {
    this.#pool = pool;
    this.#names = names;
  }

  /** Undefined if the account may not read the catalogs: then nothing is known of any statement. */
  get forAll(): ForAll | undefined {
    return this.#isReadable ? this.#forAll : undefined;
  }

  /** The `DependencyCatalog` must have learnt the names. Throws `DatabaseError` if the database is lost. */
  async learn(named: readonly NamedObjects[]): Promise<void> {
    const isFirst = this.#forAll === undefined;
    const kinds = OBJECT_KINDS.flatMap((kind) => {
      const oids = this.#unknown(kind, named);
      return oids.length === 0 ? [] : [{ kind, oids }];
    });
    if (!this.#isReadable || (kinds.length === 0 && !isFirst)) return;
    const statements = [
      ...(isFirst ? [COLLATIONS, PIN_SEARCH_PATH, FOR_ALL] : [PIN_SEARCH_PATH]),
      ...kinds.map(({ kind, oids }) => objectsStatement(kind, oids)),
    ];
    try {
      const { results } = await runOwnStatements(this.#pool, { statements });
      const answers = results.slice(isFirst ? 3 : 1);
      if (isFirst) this.#forAll = forAllOf(results[0], results[2]);
      for (const [at, { kind, oids }] of kinds.entries()) {
        this.#add(kind, answers[at]?.rows ?? []);
        for (const oid of oids) this.#asked.add(`${kind} ${oid}`);
      }
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.kind === 'unavailable') throw error;
      this.#isReadable = false;
    }
  }

  functions(name: QualifiedName): readonly FunctionFacts[] {
    return this.#facts('function', name, this.#functions);
  }

  /** Those of the database's own. */
  operators(name: QualifiedName): readonly OperatorFacts[] {
    return this.#facts('operator', name, this.#operators);
  }

  types(name: QualifiedName): readonly TypeFacts[] {
    return this.#facts('type', name, this.#types);
  }

  relations(name: QualifiedName): readonly RelationFacts[] {
    return this.#facts('relation', name, this.#relations);
  }

  #facts<Facts>(kind: ObjectKind, name: QualifiedName, known: ReadonlyMap<string, Facts>): readonly Facts[] {
    return this.#names.oidsOf(kind, [name]).flatMap((oid) => known.get(oid) ?? []);
  }

  #unknown(kind: ObjectKind, named: readonly NamedObjects[]): readonly string[] {
    const names = named.flatMap((each) => each[`${kind}s`]);
    const oids = new Set(this.#names.oidsOf(kind, names));
    return [...oids].filter((oid) => !this.#asked.has(`${kind} ${oid}`));
  }

  #add(kind: ObjectKind, rows: Rows['rows']): void {
    for (const [oid, schema, ...row] of rows) {
      const facts = { oid: oid ?? '', schema: schema ?? '' };
      switch (kind) {
        case 'function':
          this.#functions.set(facts.oid, functionFacts(facts.schema, row));
          break;
        case 'operator': {
          const [isPrefix, left, right, givesWay] = row.map((value) => value === 't');
          this.#operators.set(facts.oid, {
            ...facts,
            isPrefix: isPrefix ?? false,
            leftTakesOwn: left ?? true,
            rightTakesOwn: right ?? true,
            givesWay: givesWay ?? false,
          });
          break;
        }
        case 'type':
          this.#types.set(facts.oid, { ...facts, isBlind: row[0] === 't' });
          break;
        case 'relation':
          this.#relations.set(facts.oid, relationFacts(facts, row));
          break;
      }
    }
  }
}

function forAllOf(collations: Rows | undefined, forAll: Rows | undefined): ForAll {
  const [isReadCommitted, mayGuard, extendsTypes, operators, user] = forAll?.rows[0] ?? [];
  return {
    user: user ?? '',
    isReadCommitted: isReadCommitted === 't',
    mayGuard: mayGuard === 't',
    extendsTypes: extendsTypes !== 'f',
    operators: new Set(operators?.split(' ')),
    collations: new Set((collations?.rows ?? []).map(([name]) => name ?? '')),
  };
}

function functionFacts(schema: string, row: readonly (string | null)[]): FunctionFacts {
  const [isInitial, fewest, most, isVariadic, isSteady, namesObjects, searchesText, takesOwn, body] = row;
  return {
    schema,
    isInitial: isInitial === 't' && (typeof body !== 'string' || isQualified(body)),
    fewest: Number(fewest),
    most: isVariadic === 't' ? Number.POSITIVE_INFINITY : Number(most),
    isSteady: isSteady === 't',
    namesObjects: namesObjects === 't',
    searchesText: searchesText === 't',
    takesOwn: Array.from(takesOwn ?? '', (each) => each === 't'),
  };
}

/** Whether the text of a function's body names all that it calls with a schema, so that it means the same on any path. */
function isQualified(body: string): boolean {
  try {
    const { functions, operators, types, relations } = namedObjects(parseSync(body));
    return [...functions, ...operators, ...types, ...relations].every(({ schema }) => schema !== undefined);
  } catch {
    return false;
  }
}

function relationFacts(
  { oid, schema }: { readonly oid: string; readonly schema: string },
  row: readonly (string | null)[],
): RelationFacts {
  const [name, isPlain, hasRowSecurity, callsOwn, isRowServed, otherColumns] = row;
  const columns: unknown = JSON.parse(otherColumns ?? '[]');
  return {
    oid,
    schema,
    name: name ?? '',
    isPlain: isPlain === 't',
    hasRowSecurity: hasRowSecurity !== 'f',
    callsOwn: callsOwn !== 'f',
    isRowServed: isRowServed !== 'f',
    otherColumns: Array.isArray(columns) ? columns.map(String) : [],
  };
}
