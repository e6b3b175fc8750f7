/**
 * What `read` makes of a command's arguments, or the exit code: 0 when it wants help (undefined), 2 when it throws a
 * TypeError, as parseArgs does for what it does not know.
 */
export function readOrUsage<T extends object>(usage: string, read: () => T | undefined): T | 0 | 2 {
  try {
    const options = read();
    if (options !== undefined) return options;
    process.stdout.write(usage);
    return 0;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    process.stderr.write(`${error.message}\n\n${usage}`);
    return 2;
  }
}

/** Throws a TypeError for what is no whole number from 1 to `most`. */
export function wholeNumber(name: string, text: string, most: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value > 0 && value <= most) return value;
  throw new TypeError(`--${name} must be a whole number from 1 to ${most}`);
}
