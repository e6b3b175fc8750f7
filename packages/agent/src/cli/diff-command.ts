import { askApiKey } from '../diff/read/ask-api-key.ts';
import { SEVERITIES } from '../diff/change.ts';
import { compareContracts, notesOn } from '../diff/compare.ts';
import { readSides, urlOf, type Side } from '../diff/read/read-side.ts';
import { jsonReport, textReport, type Comparison } from '../diff/report.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from './command.ts';
import { printFaults } from './print-faults.ts';

/** Which severities fail, by `--fail-on`: so many of SEVERITIES, the worst first. */
const FAILING: ReadonlyMap<string, number> = new Map([
  ['breaking', 1],
  ['risky', 2],
  ['any', 3],
]);

/** `svc-agent diff`: says what callers of the old capabilities meet with the new ones. */
export async function diffCommand({ given, json, env }: CommandInput): Promise<ExitCode> {
  const [old = '', now = ''] = given.operands;
  const failOn = given.value('fail-on') ?? 'breaking';
  const failing = FAILING.get(failOn);
  if (failing === undefined)
    return complain(`\`--fail-on\` takes ${[...FAILING.keys()].join(', ')}, not ${JSON.stringify(failOn)}`);
  const operands = [old, now];
  const about = { old, now, failOn };
  let apiKey = env['SVC_API_KEY'] ?? '';
  if (apiKey === '' && operands.some((operand) => urlOf(operand) !== undefined)) {
    apiKey = (process.stdin.isTTY && process.stderr.isTTY ? await askApiKey() : undefined) ?? '';
    if (apiKey === '') return complain('the gateway requires an API key: set SVC_API_KEY');
  }
  let sides: readonly Side[];
  try {
    sides = await readSides(operands, apiKey);
  } catch {
    // The standard error of the process that reads the files may quote SQL.
    const message =
      'cannot read the files: to see why, run `svc-agent check --offline --log FILE` with each of them';
    process.stderr.write(`svc-agent: ${message}\n`);
    const faults = operands.map((file) => ({ file, path: '', message }));
    if (json) process.stdout.write(jsonReport({ ...about, ok: false, changes: [], notes: [], faults }));
    return EXIT.failure;
  }
  const comparison = compare(about, sides, SEVERITIES.slice(0, failing));
  if (json) process.stdout.write(jsonReport(comparison));
  else if (comparison.faults.length > 0) {
    for (const fault of comparison.faults) printFaults([fault], process.stdout, fault.file);
  } else {
    process.stdout.write(textReport(comparison, process.stdout.isTTY && process.stdout.hasColors()));
  }
  return comparison.exitCode;
}

function compare(
  about: Pick<Comparison, 'old' | 'now' | 'failOn'>,
  [before, after]: readonly Side[],
  failing: readonly string[],
): Comparison & { readonly exitCode: ExitCode } {
  if (before?.kind === 'contract' && after?.kind === 'contract') {
    const changes = compareContracts(before.contract, after.contract);
    const ok = !changes.some(({ severity }) => failing.includes(severity));
    const notes = notesOn(before.contract, after.contract);
    return { ...about, ok, changes, notes, faults: [], exitCode: ok ? EXIT.fine : EXIT.no };
  }
  const named = [
    { file: about.old, side: before },
    { file: about.now, side: after },
  ];
  const faults = named.flatMap(({ file, side }) =>
    side?.kind === 'faults' ? side.faults.map((fault) => ({ ...fault, file })) : [],
  );
  const isUnreachable = named.some(({ side }) => side?.kind === 'faults' && side.isUnreachable);
  const exitCode = isUnreachable ? EXIT.failure : EXIT.usage;
  return { ...about, ok: false, changes: [], notes: [], faults, exitCode };
}
