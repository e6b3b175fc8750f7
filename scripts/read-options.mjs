import { parseArgs } from 'node:util';

/**
 * The options of a command of this repository, and the words that follow them. Ends the process after `--help`, with the
 * usage, and with code 2 after arguments that make no sense or that `fault` objects to.
 */
export function readOptions(usage, options = {}, { allowPositionals = false, fault = () => undefined } = {}) {
  let parsed;
  let problem;
  try {
    parsed = parseArgs({ options: { ...options, help: { type: 'boolean' } }, allowPositionals });
    if (!parsed.values.help) problem = fault(parsed.values);
  } catch (error) {
    problem = error.message;
  }
  if (problem !== undefined) {
    process.stderr.write(`cannot start: ${problem}\n${usage}`);
    process.exit(2);
  }
  if (parsed.values.help) {
    process.stdout.write(usage);
    process.exit(0);
  }
  return parsed;
}

/** What `--only a,b` names; all of `known` without it. For `fault`, see `unknownOnly`. */
export function chosenOf(only, known) {
  return only?.split(',').map((name) => name.trim()) ?? known;
}

/** A fault when `--only` names something that is not in `known`. */
export function unknownOnly(only, known) {
  const unknown = chosenOf(only, known).filter((name) => !known.includes(name));
  return unknown.length === 0 ? undefined : `no ${unknown.join(', ')}; there are ${known.join(', ')}`;
}
