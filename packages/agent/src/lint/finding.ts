import type { Fault } from '../capabilities/fault.ts';

/** From what is certainly wrong to what is merely better. */
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
  | 'order-missing'
  | 'personal-field'
  | 'result-size'
  | 'text-unbounded'
  | 'tool-size';

/** What makes capabilities hard to use, or gives away more than is meant. The message says what to do. */
export interface Finding extends Fault {
  /** Empty where all are meant, or `capabilities`. */
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
