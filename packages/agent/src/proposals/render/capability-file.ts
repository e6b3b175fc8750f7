import type { Catalog } from '../../databases/driver/catalog.ts';
import type {
  LeftOut,
  Proposal,
  ProposedCapability,
  ProposedField,
  ProposedOrder,
  ProposedParam,
  ProposedTable,
} from '../model.ts';
import { oneLine } from './one-line.ts';

export interface CapabilityFile {
  readonly catalog: Catalog;
  readonly proposal: Proposal;
  /** What callers and models read about the service; absent: nothing. */
  readonly description?: string;
  readonly gatewayUrl: string;
  /** The section of the database, without the account. */
  readonly section: Readonly<Record<string, string | number>>;
  /** Whether the driver refuses an account that may do more than read even if the file does not ask for that. */
  readonly isReadonlyRequired: boolean;
  /** The keys of the account in the section of the database; none if the database has no accounts. */
  readonly login: Readonly<Partial<Record<'user' | 'password' | 'password_file', string>>>;
  readonly keyFile: string;
  readonly max: number;
}

const WIDTH = 118;
/** Words that YAML 1.1 or 1.2 reads as something other than text. */
const TAKEN =
  /^(?:y|yes|n|no|true|false|on|off|null|~|nan|inf|[-+]?[0-9.][0-9._]*(?:e[-+]?[0-9]+)?|0[xob][0-9a-f_]+)$/i;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_-]*$/;
/** Characters that must be escaped in a YAML text. */
const UNSEEN = /[\u007f-\u009f\u2028\u2029\ufeff\ud800-\udfff\ufffe\uffff]/g;

function readonlyHint({ user }: CapabilityFile['login']): string {
  const once = user === undefined ? 'the agent can only read the file' : 'the account can only read';
  return `  # Once ${once} (svc-agent check says what else it may do):
  # require_readonly_account: true
`;
}

/** `capability.yaml`, with comments on what is left out and why. */
export function renderCapabilityFile(file: CapabilityFile): string {
  const { catalog, proposal, gatewayUrl, section, isReadonlyRequired, login, description, max } = file;
  const database = Object.entries({ ...section, ...login });
  const parts = [
    `# Proposed by svc-agent init from the catalogs of the database; no row was read. Read it before you serve it.
# Whether a column looks personal or secret is guessed from its name, type and comment: review the columns that are
# given as well as those that are left out.${login.user === undefined ? '' : ' reader.sql lets the account read what is used here.'}

service:
  title: ${yamlValue(catalog.name)}
  version: 0.1.0${description === undefined ? '' : `\n  description: ${yamlValue(description)}`}

gateway:
  url: ${yamlValue(gatewayUrl)}
  agent_private_key_file: ${file.keyFile}

database:
${database.map(([key, value]) => `  ${key}: ${typeof value === 'number' ? value : yamlValue(value)}`).join('\n')}
${isReadonlyRequired ? '' : readonlyHint(login)}
defaults:
  timeout: 5s
  max_rows: 100
  max_bytes: 64KB

capabilities:`,
    ...proposal.tables.filter(hasMore).map(renderTable),
    ...(proposal.beyondMax.length === 0
      ? []
      : [comment(`More than --max ${max} capabilities: ${proposal.beyondMax.join(', ')}`, '  ')]),
  ];
  return `${parts.join('\n\n')}\n`;
}

/** Tables whose capabilities are all beyond `--max` are named at the end only. */
function hasMore({ capabilities, hiddenColumns, nothing, leftOut }: ProposedTable): boolean {
  return nothing !== undefined || capabilities.length + hiddenColumns.length + leftOut.length > 0;
}

function renderTable({ table, capabilities, hiddenColumns, nothing, leftOut }: ProposedTable): string {
  const rows = table.rows === undefined ? '' : `, about ${table.rows.toLocaleString('en-US')} rows`;
  const left = ({ name, reason }: LeftOut): string => comment(`Left out: ${name} (${reason})`, '  ');
  const head = [
    comment(`${oneLine(table.sql)}: a ${table.kind}${rows}`, '  '),
    ...(table.rowSecurity
      ? [comment('It has row-level security: the account sees the rows that its policies let it see.', '  ')]
      : []),
    ...hiddenColumns.map(({ name, reason }) => left({ name: `column ${name}`, reason })),
    ...(nothing === undefined ? [] : [comment(`Left out: all of it (${nothing})`, '  ')]),
    ...leftOut.map(left),
  ];
  return [head.join('\n'), ...capabilities.map(renderCapability)].join('\n');
}

function renderCapability(capability: ProposedCapability): string {
  const { name, description, sql, params, sort = [], paging, result, maxRows } = capability;
  return [
    `  ${yamlText(name)}:`,
    `    description: ${yamlValue(description)}`,
    `    sql:${yamlBlock(sql, '      ')}`,
    ...(params.length === 0 ? [] : ['    params:', ...params.map(renderEntry)]),
    ...(sort.length === 0 ? [] : ['    sort:', ...sort.map(renderOrder)]),
    ...(paging === undefined ? [] : [`    paging: ${listOf(paging)}`]),
    ...(maxRows === undefined ? [] : [`    policy: { max_rows: ${maxRows} }`]),
    '    result:',
    ...result.map(renderEntry),
  ].join('\n');
}

function renderOrder({ name, terms }: ProposedOrder): string {
  return `      ${yamlText(name)}: ${yamlValue(terms)}`;
}

/** One is written without brackets. */
function listOf([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? yamlValue(first) : `[${[first, ...others].map(yamlValue).join(', ')}]`;
}

/** A parameter or a field on a line of its own. */
function renderEntry({ name, ...rest }: ProposedParam | ProposedField): string {
  return `      ${yamlText(name)}: ${flow(rest)}`;
}

function flow(mapping: Readonly<Record<string, string | number | boolean | readonly string[]>>): string {
  const entries = Object.entries(mapping).map(([key, value]) => {
    if (typeof value === 'string') return `${key}: ${yamlValue(value)}`;
    return typeof value === 'object' ? `${key}: [${value.map(yamlValue).join(', ')}]` : `${key}: ${value}`;
  });
  return `{ ${entries.join(', ')} }`;
}

function comment(text: string, indent: string): string {
  const lines: string[] = [];
  for (const word of oneLine(text).split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && indent.length + last.length + word.length + 3 <= WIDTH) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else {
      lines.push(word);
    }
  }
  return lines.map((line) => `${indent}# ${line}`).join('\n');
}

/** A key or a value, also within `{}`. */
export function yamlText(text: string): string {
  if (PLAIN.test(text) && !TAKEN.test(text)) return text;
  const pairs = /[\ud800-\udbff][\udc00-\udfff]/g;
  const escape = (part: string): string =>
    part.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const quoted = JSON.stringify(text);
  let result = '';
  let end = 0;
  for (const { 0: pair, index } of quoted.matchAll(pairs)) {
    result += escape(quoted.slice(end, index)) + pair;
    end = index + pair.length;
  }
  return result + escape(quoted.slice(end));
}

/** As `yamlText`, with `${` escaped, which would name an environment variable. */
export function yamlValue(text: string): string {
  return yamlText(escapeReferences(text));
}

/** A text of several lines as the value of a key. */
export function yamlBlock(text: string, indent: string): string {
  // YAML would not read other characters back as they are.
  if (/[^\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]|^\s|\s\n/u.test(text))
    return ` ${yamlValue(text)}`;
  const lines = escapeReferences(text).split('\n');
  return ` |-\n${lines.map((line) => `${indent}${line}`).join('\n')}`;
}

function escapeReferences(text: string): string {
  return text.replaceAll('${', () => '$${');
}
