export interface Interpolated {
  readonly text: string;
  readonly replaced: boolean;
  /** Whether the text was only one `${NAME}`. */
  readonly whole: boolean;
  /** They name variables, never their values. */
  readonly problems: readonly string[];
}

/** Text that holds a reference to an environment variable. */
export const REFERENCE_PATTERN = '\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}';

const WHOLE = new RegExp(`^${REFERENCE_PATTERN}$`);
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Replaces each `${NAME}` from the environment, once: a value that holds `${` stays as it is. */
export function interpolate(text: string, env: Readonly<Record<string, string | undefined>>): Interpolated {
  const problems: string[] = [];
  let replaced = false;
  const result = text.replace(/\$\$\{|\$\{([^}]*)(\}?)/g, (match, name: string | undefined, end: string) => {
    if (name === undefined) return '${';
    if (end === '' || !NAME.test(name)) {
      problems.push('`${` must be followed by a variable name and `}`; write `$${` for the characters `${`');
      return match;
    }
    const value = env[name];
    if (value === undefined) {
      problems.push(`the environment variable ${name} is not set`);
      return match;
    }
    replaced = true;
    return value;
  });
  return { text: result, replaced, whole: WHOLE.test(text), problems };
}
