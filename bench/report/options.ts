import { parseArgs } from 'node:util';
import { readOrUsage, wholeNumber } from '../../tests/trust/read-or-usage.ts';
import { nodeExecutable, OWN_NODE, type NodeExecutable } from '../contestants/node-executable.ts';

export interface Options<Name extends string> {
  number(name: Name): number;
  /** Empty without `--only`. */
  readonly only: readonly string[];
  /** Of `--node`; default the one that runs this. */
  readonly node: NodeExecutable;
  readonly json: boolean;
  /** Those of `writes` that are given. */
  readonly writes: readonly string[];
}

/**
 * Reads `--json` and these whole numbers, each with its default and the most that it may be; `--only` with one or more of
 * `names`, `--node`, and the flags `writes`, which want a whole run, only if `more` has them. Returns the exit code for help and for wrong usage.
 */
export function readOptions<Name extends string>(
  usage: string,
  args: readonly string[],
  numbers: Readonly<Record<Name, readonly [usual: number, most: number]>>,
  more: {
    readonly names?: readonly string[];
    readonly node?: boolean;
    readonly writes?: readonly string[];
  } = {},
): Options<Name> | 0 | 2 {
  return readOrUsage(usage, () => {
    const { names = [], node = false, writes = [] } = more;
    const texts = [...Object.keys(numbers), ...(names.length > 0 ? ['only'] : []), ...(node ? ['node'] : [])];
    const flags = [...writes, 'json', 'help'];
    const options = Object.fromEntries(
      texts.map((name) => [name, { type: 'string', multiple: true } as const]),
    );
    const switches = Object.fromEntries(flags.map((name) => [name, { type: 'boolean' } as const]));
    const { values } = parseArgs({ args: [...args], options: { ...options, ...switches } });
    if (values['help'] === true) return undefined;
    const given = (name: string): readonly string[] => [values[name] ?? []].flat().map(String);
    const number = (name: Name): number =>
      wholeNumber(name, given(name).at(-1) ?? String(numbers[name][0]), numbers[name][1]);
    // Wrong ones are refused before anything starts.
    for (const name in numbers) number(name);
    const only = given('only').flatMap((list) => list.split(','));
    const unknown = only.find((name) => !names.includes(name));
    if (unknown !== undefined) {
      throw new TypeError(`--only: there is no "${unknown}"; choose from ${names.join(', ')}`);
    }
    const written = writes.filter((name) => values[name] === true);
    if (written.length > 0 && only.length > 0) throw new TypeError(`--${written[0]}: not with --only`);
    if (written.length > 1) throw new TypeError(`--${written.join(': not with --')}`);
    const givenNode = given('node').at(-1);
    return {
      number,
      only,
      node: givenNode === undefined ? OWN_NODE : nodeExecutable(givenNode),
      json: values['json'] === true,
      writes: written,
    };
  });
}

/** Progress goes to stderr: stdout has the report alone. */
export function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
