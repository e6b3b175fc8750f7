import { parseArgs } from 'node:util';
import { readOrUsage, wholeNumber } from '../../tests/trust/read-or-usage.ts';

export interface Options<Name extends string> {
  number(name: Name): number;
  readonly json: boolean;
  readonly write: boolean;
}

/**
 * Reads `--json`, `--write` if `canWrite`, and these whole numbers, each with its default and the most that it may be.
 * Returns the exit code for help and for wrong usage.
 */
export function readOptions<Name extends string>(
  usage: string,
  args: readonly string[],
  numbers: Readonly<Record<Name, readonly [usual: number, most: number]>>,
  canWrite = false,
): Options<Name> | 0 | 2 {
  return readOrUsage(usage, () => {
    const options = Object.fromEntries(
      Object.keys(numbers).map((name) => [name, { type: 'string' } as const]),
    );
    const flags = [...(canWrite ? ['write'] : []), 'json', 'help'];
    const switches = Object.fromEntries(flags.map((name) => [name, { type: 'boolean' } as const]));
    const { values } = parseArgs({ args: [...args], options: { ...options, ...switches } });
    if (values['help'] === true) return undefined;
    const number = (name: Name): number =>
      wholeNumber(name, String(values[name] ?? numbers[name][0]), numbers[name][1]);
    // Wrong ones are refused before anything starts.
    for (const name in numbers) number(name);
    return {
      number,
      json: values['json'] === true,
      write: values['write'] === true,
    };
  });
}
