import type { FunctionFacts } from './dependency-catalog.ts';
import type { QualifiedName } from '../statement/inspect.ts';
import { scan, type Token } from '../statement/scan.ts';
import { isNode } from '../statement/tree.ts';

/**
 * Refused whatever the capability allows. They write past READ ONLY, use up transaction ids, reach other sessions or the
 * server's files, change the session, or run SQL given as text, which no check sees.
 */
const FORBIDDEN: readonly RegExp[] = [
  /^(?:query|table|schema|database|cursor)_to_xml/,
  /^(?:ts_stat|crosstab.*|connectby|xpath_table|dblink.*)$/,
  /^(?:set_config|pg_notify|nextval|setval|setseed|txid_current|pg_current_xact_id)$/,
  /^(?:loread|lowrite|lo_(?:close|creat|create|export|from_bytea|get|import|lseek|lseek64|open|put|tell|tell64|truncate|truncate64|unlink))$/,
  /^pg_(?:try_)?advisory_/,
  /^pg_(?:read_|ls_|stat_file$|file_|logdir_ls$|current_logfile$|hba_file_rules$|ident_file_mappings$|show_all_file_settings$)/,
  /^pg_(?:cancel_backend|terminate_backend|reload_conf|promote|rotate_logfile.*|log_backend_memory_contexts)$/,
  /^pg_(?:logical_|replication_|create_|copy_|drop_|sync_|switch_wal|backup_|start_backup|stop_backup|wal_replay_)/,
  /^pg_(?:stat_reset|stat_clear|stat_force|export_snapshot|import_system|extension_config_dump|nextoid|stop_making)/,
  /^(?:restore_relation_stats|clear_relation_stats|restore_attribute_stats|clear_attribute_stats|pg_(?:restore|clear)_.*_stats)$/,
  /^(?:binary_upgrade_|brin_summarize|brin_desummarize|gin_clean_pending_list$)/,
];

/** They are volatile because they answer differently each time, or read sizes and states. All are in `pg_catalog`. */
const HARMLESS = new Set(
  (
    'random random_normal clock_timestamp timeofday gen_random_uuid uuidv4 uuidv7 pg_relation_size pg_table_size ' +
    'pg_indexes_size pg_total_relation_size pg_database_size pg_tablespace_size pg_is_in_recovery'
  ).split(' '),
);

export function isForbidden(name: string): boolean {
  return FORBIDDEN.some((pattern) => pattern.test(name));
}

/** As `HARMLESS`, but of extensions, which may lie in any schema. */
const HARMLESS_IN_EXTENSIONS = new Set([
  'pgcrypto.gen_random_bytes',
  'pgcrypto.gen_random_uuid',
  'uuid-ossp.uuid_generate_v4',
]);

/** Whether a volatile function may be called: harmless, or named in `policy.allow_functions`. */
export function isAllowed(
  { schema, name, extension }: Pick<FunctionFacts, 'schema' | 'name' | 'extension'>,
  allowFunctions: readonly string[],
): boolean {
  if (allowFunctions.includes(name) || allowFunctions.includes(`${schema}.${name}`)) return true;
  // The schema must match: another schema may have a function of that name.
  return (
    (schema === 'pg_catalog' && HARMLESS.has(name)) ||
    (extension !== undefined && HARMLESS_IN_EXTENSIONS.has(`${extension}.${name}`))
  );
}

/** Whether a function of that name answers differently each time, though it may be called. */
export function isChanging(name: string): boolean {
  return HARMLESS.has(name) || [...HARMLESS_IN_EXTENSIONS].some((each) => each.endsWith(`.${name}`));
}

/** These keys of a plan have names as texts, which may hold anything. */
const NAMES = new Set([
  'Relation Name',
  'Schema',
  'Alias',
  'Index Name',
  'CTE Name',
  'Subplan Name',
  'Function Name',
]);

const OPERATOR = /^[-+*/<>=~!@#%^&|`?]+$/;

/**
 * Every node type in a plan of `EXPLAIN (VERBOSE, FORMAT JSON)`, and the functions, operators and types of its
 * expressions.
 */
export function readPlan(plan: unknown): {
  readonly nodes: ReadonlySet<string>;
  readonly functions: readonly QualifiedName[];
  readonly operators: readonly QualifiedName[];
  /** Types that values are cast to. */
  readonly types: readonly QualifiedName[];
  readonly rows: number;
} {
  const nodes = new Set<string>();
  const functions: QualifiedName[] = [];
  const types: QualifiedName[] = [];
  const operators: QualifiedName[] = [];
  const visit = (key: string, value: unknown): void => {
    if (typeof value === 'string') {
      if (key === 'Node Type') nodes.add(value);
      else if (!NAMES.has(key)) {
        const tokens = tokensIn(value);
        functions.push(...callsIn(tokens));
        types.push(...castsIn(tokens));
        operators.push(...operatorsIn(tokens));
      }
    } else if (Array.isArray(value)) {
      for (const item of value) visit(key, item);
    } else if (isNode(value)) {
      for (const [name, child] of Object.entries(value)) visit(name, child);
    }
  };
  visit('', plan);
  const [statement]: readonly unknown[] = Array.isArray(plan) ? plan : [];
  const top = isNode(statement) ? statement['Plan'] : undefined;
  const rows = isNode(top) ? Number(top['Plan Rows']) : Number.NaN;
  return { nodes, functions, operators, types, rows };
}

function tokensIn(expression: string): readonly Token[] {
  try {
    return scan(expression);
  } catch {
    // Not every text in a plan is SQL.
    return [];
  }
}

/** Names before a parenthesis. Names of other things do no harm: only volatile functions count later. */
function callsIn(tokens: readonly Token[]): readonly QualifiedName[] {
  return tokens.flatMap((token, index) => {
    const isCall = token.kind === 'name' && tokens[index + 1]?.text === '(';
    return isCall ? [{ ...schemaBefore(tokens, index), name: unquote(token.text) }] : [];
  });
}

/** As in `a < b`, or in `a OPERATOR(shop.<) b`. */
function operatorsIn(tokens: readonly Token[]): readonly QualifiedName[] {
  return tokens.flatMap(({ text: name }, index) =>
    OPERATOR.test(name) ? [{ ...schemaBefore(tokens, index), name }] : [],
  );
}

function schemaBefore(tokens: readonly Token[], index: number): Pick<QualifiedName, 'schema'> {
  const schema = tokens[index - 1]?.text === '.' ? tokens[index - 2] : undefined;
  return schema === undefined ? {} : { schema: unquote(schema.text) };
}

function castsIn(tokens: readonly Token[]): readonly QualifiedName[] {
  return tokens.flatMap((token, index) => {
    if (token.text !== '::') return [];
    const [first, dot, second] = tokens.slice(index + 1, index + 4).map(({ text }) => text);
    if (first === undefined) return [];
    return dot === '.' && second !== undefined
      ? [{ schema: unquote(first), name: unquote(second) }]
      : [{ name: unquote(first) }];
  });
}

function unquote(identifier: string): string {
  return identifier.startsWith('"')
    ? identifier.slice(1, -1).replaceAll('""', '"')
    : identifier.toLowerCase();
}
