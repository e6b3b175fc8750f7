import type { Statement } from '../../connection/statement.ts';
import { FIRST_USER_OID } from '../../dialect/type-oids.ts';

const IS_OWN = `>= ${FIRST_USER_OID}`;
/** What the guard of a shared transaction calls. */
const GUARD = [
  'row_security_active(oid)',
  'pg_relation_filenode(regclass)',
  'to_regclass(text)',
  'current_setting(text)',
];
/** Tables of the catalog whose objects run functions or hold them. */
const CALLING = "'{pg_proc,pg_operator,pg_opclass,pg_opfamily,pg_cast,pg_type}'::regclass[]::oid[]";
/** Nodes of an expression that cannot see who calls, if their functions cannot. The last two are one, by version. */
const CHECK_NODES =
  'OPEXPR FUNCEXPR SCALARARRAYOPEXPR BOOLEXPR CONST COERCETODOMAINVALUE RELABELTYPE NULLTEST BOOLEANTEST COERCEVIAIO ARRAY ARRAYEXPR';

/** The collations that a name without a schema can find on the account's own path, beside PostgreSQL's own. */
export const COLLATIONS: Statement = {
  text: `select c.collname from pg_catalog.pg_collation c where pg_catalog.pg_collation_is_visible(c.oid)
    and c.collnamespace operator(pg_catalog.<>) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid`,
};

/**
 * What holds for all statements: (whether a new transaction is read committed, whether the account may call the guard's
 * functions, whether casts, operator classes or operator families of the database's own serve PostgreSQL's own types, the names of PostgreSQL's own operators,
 * the account).
 */
export const FOR_ALL: Statement = {
  text: `select current_setting('transaction_isolation') = 'read committed',
    ${GUARD.map((name) => `has_function_privilege('pg_catalog.${name}', 'execute')`).join(' and ')},
    exists (select from pg_cast c where c.oid ${IS_OWN} and c.castsource < ${FIRST_USER_OID} and c.casttarget < ${FIRST_USER_OID})
      or exists (select from pg_opclass o join pg_am m on m.oid = o.opcmethod where o.oid ${IS_OWN} and o.opcdefault
        and o.opcintype < ${FIRST_USER_OID} and m.amname in ('btree', 'hash'))
      or exists (select from pg_amop a where a.oid ${IS_OWN} and a.amopfamily < ${FIRST_USER_OID}
        and a.amoplefttype < ${FIRST_USER_OID} and a.amoprighttype < ${FIRST_USER_OID})
      or exists (select from pg_amproc a where a.oid ${IS_OWN} and a.amprocfamily < ${FIRST_USER_OID}
        and a.amproclefttype < ${FIRST_USER_OID} and a.amprocrighttype < ${FIRST_USER_OID}),
    (select string_agg(distinct o.oprname, ' ') from pg_operator o where o.oid < ${FIRST_USER_OID}), current_user`,
};

/**
 * Whether a value of PostgreSQL's own types, or a row, may be taken for the type `oid` without a cast: by a polymorphic
 * type, by the base of a domain, or by an implicit cast.
 */
function takesOwn(oid: string): string {
  const isImplicit = (type: string): string =>
    `exists (select from pg_cast c where c.casttarget = ${type} and c.castcontext = 'i' and c.oid ${IS_OWN})`;
  return `(${oid} < ${FIRST_USER_OID} or exists (select from pg_type t where t.oid = ${oid} and (t.typtype in ('d', 'c', 'p')
    or exists (select from pg_type e where e.oid = t.typelem and (e.typtype in ('d', 'c') or ${isImplicit('e.oid')}))))
    or ${isImplicit(oid)})`;
}

/**
 * Functions: (oid, schema, whether PostgreSQL's own since initdb, the fewest and the most arguments, whether it takes more,
 * whether IMMUTABLE or the function of a cast, whether it takes or gives a type that names objects, whether one for text
 * search, which arguments take PostgreSQL's own types, its body if that is SQL as text).
 */
const FUNCTIONS = `select p.oid, n.nspname, p.oid < ${FIRST_USER_OID} and l.oid < 100 and p.proconfig is null,
    p.pronargs - p.pronargdefaults, p.pronargs, p.provariadic <> 0,
    p.provolatile = 'i' or exists (select from pg_cast c where c.castfunc = p.oid and c.oid < ${FIRST_USER_OID}),
    s.names_objects, s.searches_text,
    (select string_agg(case when ${takesOwn('a.oid')} then 't' else 'f' end, '' order by a.place)
      from unnest(p.proargtypes) with ordinality a (oid, place)),
    case when l.lanname = 'sql' and to_jsonb(p) ->> 'prosqlbody' is null then p.prosrc end
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang,
    lateral (select bool_or(t.typname ~ '^_?reg') as names_objects, bool_or(t.typname in ('tsvector', 'tsquery')) as searches_text
      from unnest(p.proargtypes::oid[] || p.prorettype) a (oid) join pg_type t on t.oid = a.oid where t.oid < ${FIRST_USER_OID}) s
  where p.oid = any ($1::oid[])`;

/**
 * Operators of the database's own: (oid, schema, whether a prefix, whether each side takes PostgreSQL's own types, whether
 * it gives way to one of PostgreSQL's own). The last is so where a text without a type stands beside a value of
 * PostgreSQL's own: the server takes both for the same type if it has an operator for that.
 */
const OPERATORS = `select o.oid, n.nspname, o.oprleft = 0, ${takesOwn('o.oprleft')}, ${takesOwn('o.oprright')},
    exists (select from pg_operator i join pg_type t on t.oid in (o.oprleft, o.oprright) and t.oid ${IS_OWN}
      where i.oid < ${FIRST_USER_OID} and i.oprname = o.oprname and i.oprleft = i.oprright
        and i.oprleft in (o.oprleft, o.oprright) and (t.typcategory <> 'S' or i.oprleft = 'text'::regtype))
  from pg_operator o join pg_namespace n on n.oid = o.oprnamespace where o.oid = any ($1::oid[])`;

/**
 * Whether values of the type, a row type or an array of a domain, are converted or compared by what is the database's own:
 * plans do not show that.
 */
function isServed(oid: string): string {
  return `(exists (select from pg_cast c where c.oid ${IS_OWN} and c.castfunc <> 0 and ${oid} in (c.castsource, c.casttarget))
    or exists (select from pg_opclass o where o.oid ${IS_OWN} and o.opcdefault and o.opcintype = ${oid}))`;
}

/**
 * Each type `root` of `roots`, with whether it is blind: PostgreSQL's own and naming no objects, or an array or a domain
 * over such. A domain's checks may do no more than compare by PostgreSQL's own IMMUTABLE functions.
 */
function blindTypes(roots: string): string {
  return `recursive chain (root, oid) as (
      select r.oid, r.oid from (${roots}) r (oid)
      union select c.root, case when t.typtype = 'd' then t.typbasetype else t.typelem end
        from chain c join pg_type t on t.oid = c.oid where t.typtype = 'd' or t.typinput = 'array_in'::regproc),
    blind (oid, is_blind) as (
      select c.root, bool_and(case when t.typtype = 'd' then not exists (
          select from pg_constraint k where k.contypid = t.oid and k.contype = 'c' and (
            exists (select from regexp_matches(k.conbin::text, '[{]([A-Z]+)', 'g') m
              where m[1] <> all (string_to_array('${CHECK_NODES}', ' ')))
            or exists (select from regexp_matches(k.conbin::text, ':(funcid|opno) ([0-9]+)', 'g') m
              left join pg_operator o on m[1] = 'opno' and o.oid = m[2]::oid
              left join pg_proc p on p.oid = case m[1] when 'opno' then o.oprcode::oid else m[2]::oid end
              where p.oid is null or p.oid ${IS_OWN} or p.provolatile <> 'i')
            or exists (select from pg_depend d where d.classid = 'pg_constraint'::regclass and d.objid = k.oid
              and d.refobjid ${IS_OWN} and (d.refclassid <> 'pg_type'::regclass or d.refobjid <> t.oid))))
        else t.typinput = 'array_in'::regproc and not (t.oid ${IS_OWN} and ${isServed('t.oid')})
          or t.oid < ${FIRST_USER_OID} and t.typtype in ('b', 'r', 'm') and t.typname !~ '^reg' end)
      from chain c join pg_type t on t.oid = c.oid group by c.root)`;
}

/** Types: (oid, schema, whether blind). */
const TYPES = `with ${blindTypes('select unnest($1::oid[])')}
  select b.oid, n.nspname, b.is_blind from blind b join pg_type t on t.oid = b.oid join pg_namespace n on n.oid = t.typnamespace`;

/**
 * Relations: (oid, schema, name, whether a plain table or materialized view, whether it has row-level security, whether
 * planning or reading it may call what is the database's own, whether its rows are served, its columns of types that are not blind as JSON).
 */
const RELATIONS = `with ${blindTypes('select a.atttypid from pg_attribute a where a.attrelid = any ($1::oid[]) and a.attnum > 0 and not a.attisdropped')},
  parts (relation, classid, objid) as (
    select i.indrelid, 'pg_class'::regclass::oid, i.indexrelid from pg_index i where i.indrelid = any ($1::oid[])
    union all select k.conrelid, 'pg_constraint'::regclass, k.oid from pg_constraint k where k.conrelid = any ($1::oid[]) and k.contype = 'c'
    union all select s.stxrelid, 'pg_statistic_ext'::regclass, s.oid from pg_statistic_ext s where s.stxrelid = any ($1::oid[])
    union all select d.adrelid, 'pg_attrdef'::regclass, d.oid from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid
      and a.attnum = d.adnum where d.adrelid = any ($1::oid[]) and a.attgenerated = 'v')
  select r.oid, n.nspname, r.relname, r.oid ${IS_OWN} and n.nspname <> 'pg_catalog' and r.relkind in ('r', 'm')
      and r.relpersistence <> 't' and not r.relhassubclass and not r.relispartition,
    r.relrowsecurity,
    exists (select from parts p join pg_depend d on d.classid = p.classid and d.objid = p.objid
      left join pg_type t on d.refclassid = 'pg_type'::regclass and t.oid = d.refobjid
      where p.relation = r.oid and d.refobjid ${IS_OWN} and d.refclassid = any (${CALLING}) and t.typtype is distinct from 'e'),
    exists (select from pg_type t where r.reltype in (t.oid, t.typelem) and ${isServed('t.oid')}),
    (select coalesce(json_agg(a.attname), '[]') from pg_attribute a join blind b on b.oid = a.atttypid
      where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped and not b.is_blind)
  from pg_class r join pg_namespace n on n.oid = r.relnamespace where r.oid = any ($1::oid[])`;

const TEXTS: Readonly<Record<'function' | 'operator' | 'type' | 'relation', string>> = {
  function: FUNCTIONS,
  operator: OPERATORS,
  type: TYPES,
  relation: RELATIONS,
};
export type ObjectKind = keyof typeof TEXTS;
export const OBJECT_KINDS: readonly ObjectKind[] = ['function', 'operator', 'type', 'relation'];

/** Goes after `PIN_SEARCH_PATH`, as all of these but `COLLATIONS` do. */
export function objectsStatement(kind: ObjectKind, oids: readonly string[]): Statement {
  return { text: TEXTS[kind], values: [`{${oids.join(',')}}`] };
}
