import { CALL_ERRORS, CLOSE_MEANINGS, LINK_ERRORS, type CallErrorCode } from '@svc/protocol';
import { code, table } from './markdown.ts';

const isCode = (name: string): name is CallErrorCode => Object.hasOwn(CALL_ERRORS, name);
export const ERROR_CODES: readonly CallErrorCode[] = Object.keys(CALL_ERRORS).filter(isCode);

export function errorTable(): string {
  const rows = ERROR_CODES.map((name) => {
    const { status, when, caller, operator, mayHaveBegun, repeat } = CALL_ERRORS[name];
    const page = name.startsWith('AGENT_') ? 'troubleshooting-agent' : 'troubleshooting';
    const link = `[${code(name)}](../guides/${page}.md#${name.toLowerCase()})`;
    return [String(status), link, when, caller, operator, mayHaveBegun ? 'perhaps' : 'no', repeat];
  });
  return table(
    [
      'Status',
      'Code',
      'When',
      'What the caller does',
      'What the operator looks at',
      'Query begun?',
      'Repeat?',
    ],
    rows,
  );
}

export function linkCodeTable(): string {
  const rows = Object.entries(LINK_ERRORS).map(([name, { meaning }]) => [code(name), meaning]);
  return table(['Code', 'Meaning, and what the caller gets'], rows);
}

export function closeCodeTable(): string {
  return table(['Close code', 'Meaning'], Object.entries(CLOSE_MEANINGS));
}
