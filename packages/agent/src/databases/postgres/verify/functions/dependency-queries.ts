import type { Statement } from '../../connection/statement.ts';
import { textArray } from '../../dialect/text-array.ts';
import { FIRST_USER_OID } from '../../dialect/type-oids.ts';

/** Stands for every schema. */
export const ANY_SCHEMA = '*';

/** `schema` is empty for what is on the search path. */
export interface Name {
  readonly kind: 'function' | 'attribute' | 'type' | 'relation' | 'operator';
  readonly schema: string;
  readonly name: string;
}

const EQUALS = 'operator(pg_catalog.=)';
const FROM_USERS = `operator(pg_catalog.>=) '${FIRST_USER_OID}'`;
const WANTED = `rows from (pg_catalog.unnest($1::pg_catalog.text[]), pg_catalog.unnest($2::pg_catalog.text[]),
    pg_catalog.unnest($3::pg_catalog.text[])) a (kind, schema, name)`;
/** A setting that hands the objects found on the account's path to the statement that begins with them. */
const FOUND = 'svc.named_objects';

function found(
  kind: Name['kind'],
  table: string,
  prefix: string,
  isVisible: string,
  condition?: string,
): string {
  return `select a.kind, a.schema, a.name, o.oid from ${WANTED}
      join pg_catalog.${table} o on o.${prefix}name ${EQUALS} a.name::pg_catalog.name
      join pg_catalog.pg_namespace n on n.oid ${EQUALS} o.${prefix}namespace
      where a.kind ${EQUALS} '${kind}' and case when a.schema ${EQUALS} '' then ${isVisible} when a.schema ${EQUALS} '${ANY_SCHEMA}' then true
        else n.nspname ${EQUALS} a.schema::pg_catalog.name end${condition === undefined ? '' : ` and ${condition}`}`;
}

/** A user's function of a row, which can be written like a column of it. */
const IS_ATTRIBUTE = `o.oid ${FROM_USERS} and (o.pronargs operator(pg_catalog.-) o.pronargdefaults) operator(pg_catalog.<=) 1
        and exists (select from pg_catalog.pg_type t where t.oid ${EQUALS} o.proargtypes[0]
          and t.typtype ${EQUALS} any ('{c,d,p}'::pg_catalog."char"[]))`;
const CAN_BE_READ = `o.relkind ${EQUALS} any ('{r,v,m,f,p}'::pg_catalog."char"[])`;

const NAMES = `with found (kind, schema, name, oid) as materialized (
    ${found('function', 'pg_proc', 'pro', 'pg_catalog.pg_function_is_visible(o.oid)')}
    union all ${found('attribute', 'pg_proc', 'pro', 'pg_catalog.pg_function_is_visible(o.oid)', IS_ATTRIBUTE)}
    union all ${found('type', 'pg_type', 'typ', 'pg_catalog.pg_type_is_visible(o.oid)')}
    union all ${found('relation', 'pg_class', 'rel', 'pg_catalog.pg_table_is_visible(o.oid)', CAN_BE_READ)}
    union all ${found('operator', 'pg_operator', 'opr', 'pg_catalog.pg_operator_is_visible(o.oid)', `o.oid ${FROM_USERS}`)}),
  kept as materialized (select pg_catalog.set_config('${FOUND}', coalesce(pg_catalog.string_agg(
    pg_catalog.concat(case when f.kind ${EQUALS} 'attribute' then 'function' else f.kind end, ' ', f.oid), ','), ''), true) from found f)
  select f.kind, f.schema, f.name, f.oid from kept left join found f on true`;

/**
 * Asks what the catalog has of these names: (kind, schema, name, oid), the first three as they were asked for; a row of
 * nulls where it has nothing. What is on the search path depends on the account's own, so that each operator is named
 * with its schema: see `PIN_SEARCH_PATH`.
 */
export function namesStatement(names: readonly Name[]): Statement {
  const texts = (field: keyof Name): string => textArray(names.map((name) => name[field]));
  return { text: NAMES, values: [texts('kind'), texts('schema'), texts('name')] };
}

/** The casts beside PostgreSQL's own: (source, target, function, whether it is implicit). */
export const CASTS: Statement = {
  text: `select c.castsource, c.casttarget, c.castfunc, c.castcontext = 'i' from pg_cast c
    where c.oid >= ${FIRST_USER_OID} and c.castfunc <> 0`,
};

/**
 * What an object `n` leads to: (kind, oid, the way, kind, oid), for the kinds see `Kind`. PostgreSQL's own objects lead
 * to nothing, except functions: to the type of their result, and to all types if an argument names one.
 */
const EDGES = `
    select t.kind, n.oid, t.way, e.kind, e.target from (
        select 'function', 'its body', to_jsonb(f) ->> 'prosqlbody' from pg_proc f
          where n.catalog = 'function' and f.oid = n.oid and n.oid >= ${FIRST_USER_OID}
        union all select 'function', 'a default', f.proargdefaults::text from pg_proc f
          where n.catalog = 'function' and f.oid = n.oid and n.oid >= ${FIRST_USER_OID}
        union all select 'made', 'its check', c.conbin::text from pg_constraint c
          where n.catalog = 'type' and c.contypid = n.oid and n.oid >= ${FIRST_USER_OID}
        union all select 'relation', 'its query', w.ev_action::text from pg_class r join pg_rewrite w on w.ev_class = r.oid
          where n.catalog = 'relation' and r.oid = n.oid and n.oid >= ${FIRST_USER_OID} and r.relkind = 'v' and w.ev_type = '1'
        union all select 'relation', 'its row-level security', p.polqual::text from pg_class r join pg_policy p on p.polrelid = r.oid
          where n.catalog = 'relation' and r.oid = n.oid and r.relrowsecurity and p.polcmd in ('r', '*')
        union all select 'relation', 'a generated column', d.adbin::text from pg_attribute a
          join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
          where n.catalog = 'relation' and a.attrelid = n.oid and a.attgenerated = 'v'
      ) t (kind, way, tree) cross join lateral (
        select x.kind, x.target from (
            select distinct m.parts[1], d.digits::int8
            from regexp_matches(t.tree, ':([a-zA-Z_]+) (?:[(]o )?([0-9][0-9 ]*)', 'g') m (parts),
              regexp_split_to_table(btrim(m.parts[2]), ' +') d (digits) where length(d.digits) <= 10
          ) y (field, number) cross join lateral (
            select 'function', y.number where y.field in ('funcid', 'aggfnoid', 'winfnoid', 'tsmhandler')
            union all select x.kind, y.number from (
              select 'operator' where y.field in ('opno', 'opnos', 'eqop', 'sortop', 'cycle_mark_neop')
              union all select 'relation' where y.field = 'relid'
              union all select 'made' where y.field in ('resulttype', 'typid', 'typId', 'typeId', 'coltypes', 'funccoltypes')
              union all select 'type' where y.field ~* 'typ' and y.field !~* 'typmod'
            ) x (kind) where y.number >= ${FIRST_USER_OID}
          ) x (kind, target)
        union all select 'json', 0 where t.tree like '%{JSONCONSTRUCTOREXPR%'
      ) e (kind, target)
    union all select 'function', n.oid, e.way, e.kind, e.target from pg_proc f cross join lateral (
        select 'its arguments and result', 'made', a.oid from unnest(f.proargtypes::oid[] || f.proallargtypes || f.prorettype) a (oid)
        union all select 'its support function', 'function', f.prosupport::oid
        union all select 'its code', 'function', p.oid from pg_proc p join pg_language l on l.oid = p.prolang
          where p.prosrc = f.prosrc and p.prolang = f.prolang and p.oid < ${FIRST_USER_OID} and l.lanname = 'internal'
        union all select s.way, 'function', s.target from pg_aggregate a cross join lateral (values
          ('its state function', a.aggtransfn::oid), ('its final function', a.aggfinalfn::oid),
          ('its combine function', a.aggcombinefn::oid), ('its serialization function', a.aggserialfn::oid),
          ('its deserialization function', a.aggdeserialfn::oid), ('its state function for moving frames', a.aggmtransfn::oid),
          ('its inverse function for moving frames', a.aggminvtransfn::oid),
          ('its final function for moving frames', a.aggmfinalfn::oid)) s (way, target) where a.aggfnoid = f.oid
        union all select s.way, s.kind, s.target from pg_aggregate a cross join lateral (values
          ('its sort operator', 'operator', a.aggsortop), ('its state', 'made', a.aggtranstype), ('its state', 'made', a.aggmtranstype)
          ) s (way, kind, target) where a.aggfnoid = f.oid
      ) e (way, kind, target) where n.catalog = 'function' and f.oid = n.oid and n.oid >= ${FIRST_USER_OID}
    union all select 'function', n.oid, 'its result', 'type', f.prorettype from pg_proc f
      where n.catalog = 'function' and f.oid = n.oid and n.oid < ${FIRST_USER_OID}
    union all select 'function', n.oid, 'a type that an argument names', 'made', t.oid from pg_proc f, pg_type t
      where n.catalog = 'function' and f.oid = n.oid and n.oid < ${FIRST_USER_OID} and f.proname in ('pg_input_is_valid',
        'pg_input_error_info', 'array_in', 'domain_in', 'multirange_in', 'range_in', 'record_in')
        and t.oid >= ${FIRST_USER_OID} and (t.typtype = 'd' or t.typtype = 'b' and t.typelem = 0)
    union all select k.kind, n.oid, e.way, k.kind, e.target from pg_type t cross join lateral (
        select 'its elements', t.typelem
        union all select 'its base type', t.typbasetype
        union all select 'a field', a.atttypid from pg_attribute a
          where t.typrelid <> 0 and a.attrelid = t.typrelid and a.attnum > 0 and not a.attisdropped
        union all select 'its bounds', g.rngsubtype from pg_range g where g.rngtypid = t.oid
        union all select 'its ranges', g.rngtypid from pg_range g where t.typtype = 'm' and to_jsonb(g) ->> 'rngmultitypid' = t.oid::text
      ) e (way, target) cross join (values ('type'), ('made'), ('written')) k (kind)
      where n.catalog = 'type' and t.oid = n.oid and n.oid >= ${FIRST_USER_OID}
    union all select e.kind, n.oid, e.way, 'function', e.target from pg_type t left join pg_range g on g.rngtypid = t.oid
      cross join lateral (values ('type', 'its output function', t.typoutput::oid), ('type', 'its send function', t.typsend::oid),
        ('type', 'its type modifier output function', t.typmodout::oid), ('made', 'its input function', t.typinput::oid),
        ('made', 'its receive function', t.typreceive::oid), ('made', 'its type modifier input function', t.typmodin::oid),
        ('made', 'its canonical function', g.rngcanonical::oid), ('type', 'its difference function', g.rngsubdiff::oid)
      ) e (kind, way, target) where n.catalog = 'type' and t.oid = n.oid and n.oid >= ${FIRST_USER_OID}
    union all select 'type', n.oid, 'a function of its operator classes', 'function', s.support from supports s
      where n.catalog = 'type' and n.oid in (s.lefttype, s.righttype)
    union all select 'written', n.oid, 'its cast to ' || format_type(c.casttarget, null), 'function', c.castfunc from pg_cast c
      where n.catalog = 'type' and c.castsource = n.oid and c.oid >= ${FIRST_USER_OID}
        and (c.casttarget = 'text'::regtype or c.casttarget = 'json'::regtype
          and not exists (select from pg_type t where t.oid = n.oid and t.typtype = 'c'))
    union all select 'operator', n.oid, e.way, e.kind, e.target from pg_operator o cross join lateral (values
        ('its operand', 'made', o.oprleft), ('its operand', 'made', o.oprright), ('its result', 'made', o.oprresult),
        ('its function', 'function', o.oprcode::oid), ('its selectivity function', 'function', o.oprrest::oid),
        ('its selectivity function', 'function', o.oprjoin::oid)) e (way, kind, target)
      where n.catalog = 'operator' and o.oid = n.oid and n.oid >= ${FIRST_USER_OID}
    union all select 'relation', n.oid, 'its rows', 'type', r.reltype from pg_class r
      where n.catalog = 'relation' and r.oid = n.oid and n.oid >= ${FIRST_USER_OID}
    union all select 'relation', n.oid, 'a table below it', 'relation', i.inhrelid from pg_inherits i
      where n.catalog = 'relation' and i.inhparent = n.oid`;

/**
 * Asks for all that the objects which `NAMES` has found, those of $1 and, with $2, the functions of casts lead to, each with a word for what its row is:
 *
 * - `edge`: see `EDGES`.
 * - `title`: (kind, oid, what to call it).
 * - `foreign`: a foreign table (oid, schema, name).
 * - `function`: (oid, schema, name, whether volatile, its extension, its language, whether it takes or gives `internal`,
 *   the name or text of its code, whether that is SQL to be parsed, its own search path, whether
 *   its arguments decide the type of its result).
 *
 * Columns that not all versions have are read from the row as JSON.
 */
const REACHED = `with recursive supports (lefttype, righttype, support) as materialized (
    select s.amproclefttype, s.amprocrighttype, s.amproc::oid from pg_amproc s where s.oid >= ${FIRST_USER_OID}),
  reached (catalog, oid) as (
    select split_part(o.text, ' ', 1), split_part(o.text, ' ', 2)::oid
      from unnest($1::text[] || string_to_array(current_setting('${FOUND}'), ',')) o (text)
    union all select 'function', c.castfunc from pg_cast c where $2::bool and c.oid >= ${FIRST_USER_OID} and c.castfunc <> 0
    union select case when e.kind in ('made', 'written') then 'type' else e.kind end, e.target::oid
      from reached n cross join lateral (${EDGES}) e (from_kind, from_oid, way, kind, target) where e.target <> 0),
  n as materialized (select r.catalog, r.oid from reached r)
select 'edge', e.from_kind, e.from_oid::text, e.way, e.kind, e.target::text, null, null, null, null, null, null
  from n cross join lateral (${EDGES}) e (from_kind, from_oid, way, kind, target) where e.target <> 0 or e.kind = 'json'
union all select 'title', 'type', t.oid::text, (case t.typtype when 'd' then 'domain ' else 'type ' end) || format_type(t.oid, null),
    null, null, null, null, null, null, null, null
  from n join pg_type t on t.oid = n.oid where n.catalog = 'type'
union all select 'title', 'operator', o.oid::text, 'operator ' || s.nspname || '.' || o.oprname, null, null, null, null, null, null, null, null
  from n join pg_operator o on o.oid = n.oid join pg_namespace s on s.oid = o.oprnamespace where n.catalog = 'operator'
union all select 'title', 'relation', c.oid::text, (case c.relkind when 'v' then 'view ' when 'f' then 'foreign table ' else 'table ' end)
    || s.nspname || '.' || c.relname, null, null, null, null, null, null, null, null
  from n join pg_class c on c.oid = n.oid join pg_namespace s on s.oid = c.relnamespace where n.catalog = 'relation'
union all select 'title', 'function', p.oid::text, (case p.prokind when 'a' then 'aggregate ' else 'function ' end)
    || s.nspname || '.' || p.proname, null, null, null, null, null, null, null, null
  from n join pg_proc p on p.oid = n.oid join pg_namespace s on s.oid = p.pronamespace where n.catalog = 'function'
union all select 'foreign', c.oid::text, s.nspname, c.relname, null, null, null, null, null, null, null, null
  from n join pg_class c on c.oid = n.oid join pg_namespace s on s.oid = c.relnamespace
  where n.catalog = 'relation' and c.relkind = 'f'
union all select 'function', p.oid::text, s.nspname, p.proname, (p.provolatile = 'v')::text, (select x.extname from pg_depend d
      join pg_extension x on x.oid = d.refobjid where d.classid = 'pg_proc'::regclass and d.objid = p.oid
      and d.deptype = 'e' and d.refclassid = 'pg_extension'::regclass), l.lanname,
    ('internal'::regtype = p.prorettype or 'internal'::regtype = any (p.proargtypes))::text,
    case when p.oid >= ${FIRST_USER_OID} and l.lanname in ('c', 'internal', 'sql') then p.prosrc end,
    (p.oid >= ${FIRST_USER_OID} and l.lanname = 'sql' and p.prokind <> 'a' and to_jsonb(p) ->> 'prosqlbody' is null)::text,
    (select substr(c, 13) from unnest(p.proconfig) c where c like 'search_path=%'), (r.typtype = 'p' and r.typname like 'any%')::text
  from n join pg_proc p on p.oid = n.oid join pg_namespace s on s.oid = p.pronamespace join pg_language l on l.oid = p.prolang
    join pg_type r on r.oid = p.prorettype where n.catalog = 'function'`;

const WRAPPERS = `select f.ftrelid::text, coalesce(h.probin, w.fdwname),
    exists (select from pg_options_to_table(f.ftoptions) o where o.option_name = 'program')::text
  from pg_foreign_table f join pg_foreign_server v on v.oid = f.ftserver join pg_foreign_data_wrapper w on w.oid = v.srvfdw
    left join pg_proc h on h.oid = w.fdwhandler where f.ftrelid::text = any ($1::text[])`;

/**
 * Asks for (oid, the library of its wrapper, whether it runs a program) of foreign tables. It is asked only if there are
 * any, since an account may not be allowed to read these catalogs.
 */
export function wrappersStatement(oids: readonly string[]): Statement {
  return { text: WRAPPERS, values: [textArray(oids)] };
}

/** `namesStatement` and `PIN_SEARCH_PATH` go before. `objects` are as in `type 23`. */
export function reachedStatement(objects: readonly string[], withCasts: boolean): Statement {
  return { text: REACHED, values: [textArray(objects), String(withCasts)] };
}
