import type { Fault } from '../capabilities/fault.ts';

/** From what is certainly wrong to what could be better. */
export const LEVELS = ['error', 'warn', 'advice'] as const;
export type Level = (typeof LEVELS)[number];

export function isLevel(text: string): text is Level {
  return LEVELS.some((level) => level === text);
}

type Rule =
  | 'check'
  | 'description-missing'
  | 'example-missing'
  | 'list-size'
  | 'name-alike'
  | 'nullable-sort'
  | 'optional-filter'
  | 'order-missing'
  | 'personal-field'
  | 'result-size'
  | 'text-unbounded'
  | 'tool-size'
  | 'unindexed-sort';

/** Something that makes capabilities hard to use, or gives away more than is meant. The message says what to do. */
export interface Finding extends Fault {
  /** Empty if the finding is about all, or about `capabilities`. */
  readonly capability: string;
  readonly capabilities?: readonly string[];
  readonly rule: Rule;
  readonly level: Level;
}

/** Makes the findings of a rule. */
export type FindingOf = (
  of: { readonly name: string },
  at: { readonly path?: string; readonly position: NonNullable<Fault['position']> },
  message: string,
) => Finding;

export function findingOf(rule: Rule, level: Level): FindingOf {
  return ({ name }, { path, position }, message) => ({
    capability: name,
    rule,
    level,
    path: `capabilities.${name}${path === undefined ? '' : `.${path}`}`,
    message,
    position,
  });
}

/** More findings of one kind would hide all others. */
const MOST_OF_A_KIND = 5;

/** Findings of one kind; if they are many, one finding that says what to do and names the first places. */
export function atOnce(findings: readonly Finding[], what: string): readonly Finding[] {
  const [first] = findings;
  if (first === undefined || findings.length <= MOST_OF_A_KIND) return findings;
  const capabilities = [...new Set(findings.map(({ capability }) => capability))];
  const paths = findings
    .slice(0, MOST_OF_A_KIND)
    .map(({ path }) => `\`${path.slice('capabilities.'.length)}\``);
  const message = `${what} (${paths.join(', ')}, ${findings.length - MOST_OF_A_KIND} more)`;
  return [{ ...first, capability: '', capabilities, path: 'capabilities', message }];
}
