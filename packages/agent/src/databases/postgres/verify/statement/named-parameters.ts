import type { Param } from '../../../../capabilities/model.ts';
import {
  createTemplate,
  type ParameterFault,
  type Reference,
  type TemplateResult,
} from '../../../sql/template.ts';
import { scan, type Token } from './scan.ts';
import { textOf } from '../../connection/server-errors.ts';

/**
 * Finds each `:name`. PostgreSQL's scanner decides what is a string, a comment or a cast. If even it cannot tell a
 * parameter from a slice bound, the SQL is refused.
 */
export function findParameters(sql: string, declared: readonly Param[]): TemplateResult {
  if (sql.includes('\0') || Buffer.from(sql, 'utf8').toString('utf8') !== sql) {
    return refused('contains characters that PostgreSQL does not accept: remove NUL and unpaired surrogates');
  }
  let scanned: readonly Token[];
  try {
    scanned = scan(sql);
  } catch (error) {
    return {
      ok: false,
      faults: [{ message: 'cannot be read as SQL: check its quotes and comments', detail: textOf(error) }],
    };
  }
  const tokens = withoutTrailingSemicolons(scanned.filter(({ kind }) => kind !== 'comment'));
  const last = tokens.at(-1);
  if (last === undefined) return refused('is empty: write one SELECT');

  const faults: ParameterFault[] = [];
  const references = findReferences(tokens, faults);
  const texts = textsOf(scanned, 'text');
  const comments = textsOf(scanned, 'comment');
  return createTemplate(sql, { references, end: last.end, texts, comments, faults }, declared);
}

/** Each name once; none if the text cannot be read, for which `findParameters` says why. */
export function namesOfParameters(sql: string): readonly string[] {
  try {
    const tokens = scan(sql).filter(({ kind }) => kind !== 'comment');
    return [...new Set(findReferences(tokens, []).map(({ name }) => name))];
  } catch {
    return [];
  }
}

function textsOf(tokens: readonly Token[], kind: Token['kind']): readonly string[] {
  return tokens.filter((token) => token.kind === kind).map(({ text }) => text);
}

function refused(message: string): TemplateResult {
  return { ok: false, faults: [{ message }] };
}

function withoutTrailingSemicolons(tokens: readonly Token[]): readonly Token[] {
  let end = tokens.length;
  while (tokens[end - 1]?.text === ';') end -= 1;
  return tokens.slice(0, end);
}

function findReferences(tokens: readonly Token[], faults: ParameterFault[]): readonly Reference[] {
  const references: Reference[] = [];
  /** The open brackets. `:` may be a slice only directly inside a subscript. */
  const open: ('group' | 'constructor' | 'subscript')[] = [];
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    const next = tokens[index + 1];
    if (token.kind === 'parameter') {
      faults.push({ message: `uses ${token.text}: write parameters as :name` });
    } else if (token.text === '(') {
      open.push('group');
    } else if (token.text === '[') {
      open.push(opensConstructor(before, open.at(-1)) ? 'constructor' : 'subscript');
    } else if (token.text === ')' || token.text === ']') {
      open.pop();
    } else if (token.text === ':' && next?.kind === 'name' && next.start === token.end) {
      if (open.at(-1) === 'subscript') {
        // A call or a column of a table follows, so this is the bound of a slice and no parameter.
        if (['(', '.'].includes(tokens[index + 2]?.text ?? '')) continue;
        faults.push({
          message: `:${next.text} inside a subscript could also be the end of a slice: write (:${next.text}) for the parameter, or a space behind the colon for the end of a slice`,
        });
      } else {
        references.push({ name: next.text, start: token.start, end: next.end });
      }
    }
  }
  return references;
}

function opensConstructor(before: Token | undefined, around: string | undefined): boolean {
  if (before?.text.toLowerCase() === 'array') return true;
  return around === 'constructor' && (before?.text === '[' || before?.text === ',');
}
