import type { Catalog } from '../../databases/driver/catalog.ts';
import type {
  LeftOut,
  Proposal,
  ProposedCapability,
  ProposedField,
  ProposedParam,
  ProposedTable,
} from '../model.ts';
import { oneLine } from './one-line.ts';
import { yamlBlock, yamlText, yamlValue } from './yaml-text.ts';

export interface CapabilityFile {
  readonly catalog: Catalog;
  readonly proposal: Proposal;
  readonly gatewayUrl: string;
  /** Of the database, without the account. */
  readonly section: Readonly<Record<string, string | number>>;
  /** Whether an account that may do more than read is refused though the file does not ask for it. */
  readonly isReadonlyRequired: boolean;
  /** Absent where the database knows none. */
  readonly account?: { readonly name: string; readonly passwordFile: string };
  readonly keyFile: string;
  readonly max: number;
}

const WIDTH = 118;

function readonlyHint(account: CapabilityFile['account']): string {
  const once = account === undefined ? 'the agent can only read the file' : 'the account can only read';
  return `  # Once ${once} (svc-agent check says what else it may do):
  # require_readonly_account: true
`;
}

/** `capability.yaml`: what is proposed, and in comments what is left out and why. */
export function renderCapabilityFile(file: CapabilityFile): string {
  const { catalog, proposal, gatewayUrl, section, isReadonlyRequired, account, max } = file;
  const login = account === undefined ? {} : { user: account.name, password_file: account.passwordFile };
  const database = Object.entries({ ...section, ...login });
  const parts = [
    `# Proposed by svc-agent init from the catalogs of the database; no row was read. Read it before you serve it.
# Which columns look personal or secret is a guess by their names, types and comments: look through those that
# are given as well as through those that are left out.${account === undefined ? '' : ' reader.sql lets the account read what is used here.'}

service:
  title: ${yamlValue(catalog.name)}
  version: 0.1.0

gateway:
  url: ${yamlValue(gatewayUrl)}
  agent_private_key_file: ${file.keyFile}

database:
${database.map(([key, value]) => `  ${key}: ${typeof value === 'number' ? value : yamlValue(value)}`).join('\n')}
${isReadonlyRequired ? '' : readonlyHint(account)}
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

/** Of tables that are only beyond the greatest number the names at the end are enough. */
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

function renderCapability({ name, description, sql, params, result, maxRows }: ProposedCapability): string {
  return [
    `  ${yamlText(name)}:`,
    `    description: ${yamlValue(description)}`,
    `    sql:${yamlBlock(sql, '      ')}`,
    ...(params.length === 0 ? [] : ['    params:', ...params.map(renderParam)]),
    ...(maxRows === undefined ? [] : [`    policy: { max_rows: ${maxRows} }`]),
    '    result:',
    ...result.map(renderField),
  ].join('\n');
}

function renderParam({ name, ...rest }: ProposedParam): string {
  return `      ${yamlText(name)}: ${flow(rest)}`;
}

function renderField({ name, ...rest }: ProposedField): string {
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
