import { parseSync } from 'libpg-query';
import type { Rows, Statement } from '../../connection/statement.ts';
import type { SessionPool } from '../../pool/session-pool.ts';
import type { QualifiedName } from '../statement/inspect.ts';
import { namedObjects, type NamedObjects } from '../statement/named-objects.ts';
import {
  ANY_SCHEMA,
  CASTS,
  namesStatement,
  reachedStatement,
  wrappersStatement,
  type Name,
} from './dependency-queries.ts';
import { askCatalog, PIN_SEARCH_PATH, runOwnStatements } from '../../execute/own-statements.ts';

/**
 * Of a type: `type` for values that exist, `made` for those that are made, whose input functions and checks run, and
 * `written` for those that become JSON or text. `json` has one object, for making JSON of anything.
 */
export type Kind = (typeof KINDS)[number];
const KINDS = ['function', 'operator', 'relation', 'json', 'type', 'made', 'written'] as const;

export interface CatalogObject {
  readonly kind: Kind;
  readonly oid: string;
}

export interface Edge extends CatalogObject {
  /** As in `its state function`. */
  readonly way: string;
}

export interface FunctionFacts {
  readonly schema: string;
  readonly name: string;
  readonly isVolatile: boolean;
  readonly extension: string | undefined;
  readonly isCode: boolean;
  /** Whether it takes or gives `internal`: only a superuser can define it, and SQL cannot call it. */
  readonly isInternal: boolean;
  /** The name of its code in a library; empty if it is not in C, or is PostgreSQL's own. */
  readonly symbol: string;
  /** What its body of SQL names; undefined without one, or if it is kept parsed. */
  readonly body: NamedObjects | 'unreadable' | undefined;
  /** Where the names of its body are looked up; empty for the search path of its caller. */
  readonly schemas: readonly string[];
  /** Whether its arguments decide the type of its result. */
  readonly isPolymorphic: boolean;
}

export interface ForeignTable {
  readonly schema: string;
  readonly name: string;
  readonly wrapper: string;
  readonly runsProgram: boolean;
}

export interface UserCast {
  readonly source: string;
  readonly target: string;
  readonly function: string;
  readonly isImplicit: boolean;
}

/** Its statements go last in a transaction, for they pin the search path. */
export interface Question {
  readonly statements: readonly Statement[];
  readonly names: readonly string[];
  readonly types: readonly string[];
}

/** No name has it. */
const SEPARATOR = '\0';
/** Types that stand for others in operator classes: "any", record, anyelement and its relatives. */
export const PSEUDO_TYPES: readonly string[] =
  '2276 2249 2277 2283 2776 3500 3831 4537 5077 5078 5079 5080'.split(' ');

/**
 * What the catalog says of the objects that statements name, and of all that those lead to. Each name is asked for once.
 */
export class DependencyCatalog {
  readonly functions: Map<string, FunctionFacts> = new Map();
  readonly foreignTables: Map<string, ForeignTable> = new Map();
  #casts: readonly UserCast[] | undefined;
  readonly #pool: SessionPool;
  readonly #byName = new Map<string, readonly string[]>();
  readonly #types = new Set<string>();
  readonly #edges = new Map<string, readonly Edge[]>();
  readonly #titles = new Map<string, string>();
  /** Foreign tables whose wrapper has not been asked for. */
  readonly #withoutWrapper = new Set<string>();
  /** What bodies of functions name, until it is known. Several checks may ask at the same time. */
  #bodies: readonly Name[] = [];

  constructor(pool: SessionPool) {
    this.#pool = pool;
  }

  get casts(): readonly UserCast[] {
    return this.#casts ?? [];
  }

  /** `types` are oids. Throws `DatabaseError`. */
  async learn(named: readonly NamedObjects[], types: readonly string[] = []): Promise<void> {
    for (;;) {
      const question = this.question(named, types);
      if (question === undefined) return this.#learnWrappers();
      const { statements } = question;
      this.answer(question, (await runOwnStatements(this.#pool, { statements })).results);
    }
  }

  /** Undefined if all is known, with what bodies of functions name. */
  question(named: readonly NamedObjects[], types: readonly string[]): Question | undefined {
    const wanted = new Map<string, Name>();
    this.#bodies = this.#bodies.filter((name) => !this.#byName.has(keyOf(name)));
    for (const name of [...named.flatMap((each) => namesOf(each, [])), ...this.#bodies]) {
      const key = keyOf(name);
      if (!this.#byName.has(key)) wanted.set(key, name);
    }
    const isFirst = this.#casts === undefined;
    const unknown = [...(isFirst ? PSEUDO_TYPES : []), ...types].filter((oid) => !this.#types.has(oid));
    if (wanted.size === 0 && unknown.length === 0) return undefined;
    const statements = [
      namesStatement([...wanted.values()]),
      PIN_SEARCH_PATH,
      reachedStatement(
        unknown.map((oid) => `type ${oid}`),
        isFirst,
      ),
      ...(isFirst ? [CASTS] : []),
    ];
    return { statements, names: [...wanted.keys()], types: unknown };
  }

  answer({ names, types }: Question, [named, , reached, casts]: readonly Rows[]): void {
    const byName = new Map(names.map((key): [string, string[]] => [key, []]));
    for (const [kind, schema, name, oid] of named?.rows ?? []) {
      if (typeof oid === 'string') byName.get([kind, schema, name].join(SEPARATOR))?.push(oid);
    }
    for (const [key, oids] of byName) this.#byName.set(key, oids);
    for (const oid of types) this.#types.add(oid);
    this.#addReached(reached?.rows ?? []);
    if (casts === undefined) return;
    this.#casts = casts.rows.map(([source, target, oid, isImplicit]) => ({
      source: source ?? '',
      target: target ?? '',
      function: oid ?? '',
      isImplicit: isImplicit === 't',
    }));
  }

  edgesOf(object: CatalogObject): readonly Edge[] {
    const edges = this.#edges.get(`${object.kind} ${object.oid}`) ?? [];
    const facts = object.kind === 'function' ? this.functions.get(object.oid) : undefined;
    if (facts === undefined || typeof facts.body !== 'object') return edges;
    const seeds = this.seeds(facts.body, facts.schemas);
    return [...edges, ...seeds.map((seed) => ({ ...seed, way: 'in its body' }))];
  }

  titleOf({ kind, oid }: CatalogObject): string {
    return this.#titles.get(`${kind === 'made' || kind === 'written' ? 'type' : kind} ${oid}`) ?? kind;
  }

  /** The objects that the names can stand for, except operators. Names without a schema are looked up in `schemas`. */
  seeds(named: NamedObjects, schemas: readonly string[] = []): readonly CatalogObject[] {
    const find = (kind: Kind, names: readonly Name[]): readonly CatalogObject[] =>
      this.#oidsOf(names).map((oid) => ({ kind, oid }));
    return [
      ...find('function', inSchemas('function', named.functions, schemas)),
      ...find('function', inSchemas('attribute', named.attributes, schemas)),
      ...find('made', inSchemas('type', named.types, schemas)),
      ...find('relation', inSchemas('relation', named.relations, schemas)),
      ...(named.buildsJson ? [{ kind: 'json', oid: '0' } as const] : []),
    ];
  }

  functionsNamed(names: readonly QualifiedName[]): readonly FunctionFacts[] {
    const oids = new Set(this.#oidsOf(inSchemas('function', names, [])));
    return [...oids].flatMap((oid) => this.functions.get(oid) ?? []);
  }

  /** PostgreSQL's own are left out. */
  operatorsOf(named: NamedObjects, schemas: readonly string[] = []): readonly CatalogObject[] {
    const oids = new Set(this.#oidsOf(inSchemas('operator', named.operators, schemas)));
    return [...oids].map((oid) => ({ kind: 'operator', oid }));
  }

  /** What names can stand for, on the account's path if they have no schema. Of operators, PostgreSQL's own are left out. */
  oidsOf(kind: Name['kind'], names: readonly QualifiedName[]): readonly string[] {
    return this.#oidsOf(inSchemas(kind, names, []));
  }

  #oidsOf(names: readonly Name[]): readonly string[] {
    return names.flatMap((name) => this.#byName.get(keyOf(name)) ?? []);
  }

  async #learnWrappers(): Promise<void> {
    const oids = [...this.#withoutWrapper];
    if (oids.length === 0) return;
    for (const [oid, wrapper, runsProgram] of await askCatalog(this.#pool, wrappersStatement(oids))) {
      const table = this.foreignTables.get(oid ?? '');
      if (table === undefined) continue;
      const found = { wrapper: wrapper ?? '', runsProgram: runsProgram === 'true' };
      this.foreignTables.set(oid ?? '', { ...table, ...found });
    }
    for (const oid of oids) this.#withoutWrapper.delete(oid);
  }

  #addReached(rows: Rows['rows']): void {
    const edges = new Map<string, Edge[]>();
    const bodies = [...this.#bodies];
    for (const [what, ...row] of rows) {
      const [first = '', second = '', third = '', fourth = '', fifth = ''] = row.map((value) => value ?? '');
      if (what === 'edge') {
        const from = `${first} ${second}`;
        const own = edges.get(from) ?? [];
        own.push({ way: third, kind: kindOf(fourth), oid: fifth });
        edges.set(from, own);
      } else if (what === 'title') {
        this.#titles.set(`${first} ${second}`, third);
      } else if (what === 'foreign') {
        if (this.foreignTables.has(first)) continue;
        this.foreignTables.set(first, { schema: second, name: third, wrapper: '', runsProgram: false });
        this.#withoutWrapper.add(first);
      } else if (what === 'function' && !this.functions.has(first)) {
        const facts = factsOf(row);
        this.functions.set(first, facts);
        if (typeof facts.body !== 'object') continue;
        bodies.push(...namesOf(facts.body, facts.schemas));
      }
    }
    for (const [from, own] of edges) this.#edges.set(from, own);
    this.#bodies = bodies;
  }
}

/** With the schema, except PostgreSQL's own. */
export function nameOf({ schema, name }: Pick<FunctionFacts, 'schema' | 'name'>): string {
  return schema === 'pg_catalog' ? name : `${schema}.${name}`;
}

function keyOf({ kind, schema, name }: Name): string {
  return [kind, schema, name].join(SEPARATOR);
}

function inSchemas(
  kind: Name['kind'],
  names: readonly QualifiedName[],
  schemas: readonly string[],
): readonly Name[] {
  const usual = schemas.length === 0 ? [''] : schemas;
  return names.flatMap(({ schema, name }) =>
    (schema === undefined ? usual : [schema]).map((each) => ({ kind, schema: each, name })),
  );
}

function namesOf(named: NamedObjects, schemas: readonly string[]): readonly Name[] {
  return [
    ...inSchemas('function', named.functions, schemas),
    ...inSchemas('attribute', named.attributes, schemas),
    ...inSchemas('type', named.types, schemas),
    ...inSchemas('relation', named.relations, schemas),
    ...inSchemas('operator', named.operators, schemas),
  ];
}

function kindOf(text: string): Kind {
  const kind = KINDS.find((each) => each === text);
  if (kind === undefined) throw new Error(`no kind of object: ${text}`);
  return kind;
}

function factsOf(row: readonly (string | null)[]): FunctionFacts {
  const [, schema, name, isVolatile, extension, language, isInternal, code] = row;
  const [isText, path, isPolymorphic] = row.slice(8);
  const isCode = language === 'c' || language === 'internal';
  return {
    schema: schema ?? '',
    name: name ?? '',
    isVolatile: isVolatile === 'true',
    extension: extension ?? undefined,
    isCode,
    isInternal: isInternal === 'true',
    symbol: language === 'c' ? (code ?? '') : '',
    body: isText === 'true' ? parsedBody(code ?? '') : undefined,
    schemas: typeof path === 'string' ? schemasOfBody(path) : [],
    isPolymorphic: isPolymorphic === 'true',
  };
}

const PART_OF_PATH = /"((?:[^"]|"")*)"|([^\s,"]+)/g;

/** The names in a search path; `$user` stands for the account's. */
export function schemasOf(path: string): readonly string[] {
  return Array.from(path.matchAll(PART_OF_PATH), ([, quoted, bare = '']) =>
    quoted === undefined ? bare.toLowerCase() : quoted.replaceAll('""', '"'),
  );
}

/** PostgreSQL's own schema is always on the path, and `$user` can be any. */
function schemasOfBody(path: string): readonly string[] {
  const schemas = schemasOf(path).map((schema) =>
    schema === '$user' || schema === '' ? ANY_SCHEMA : schema,
  );
  return [...new Set([...schemas, 'pg_catalog'])];
}

function parsedBody(text: string): NamedObjects | 'unreadable' {
  try {
    return namedObjects(parseSync(text));
  } catch {
    return 'unreadable';
  }
}
