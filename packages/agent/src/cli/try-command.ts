import { readFileSync } from 'node:fs';
import { readProblem } from '@svc/edge';
import type { ExamplePrincipal } from '../capabilities/example.ts';
import {
  databaseFault,
  DatabaseError,
  isDatabaseAway,
  type VerificationFault,
} from '../databases/driver/errors.ts';
import { createLocalCaller } from '../trial/local-caller.ts';
import { openTrial } from '../trial/open-trial.ts';
import { claimsOf, givenTwice, paramsOf, readAssignments } from '../trial/read-arguments.ts';
import { jsonReport, textReport, type TryReport } from '../trial/report.ts';
import { detailsFields, showFaults, type CommandLog } from './command-log.ts';
import { flatFault } from './print-faults.ts';
import { EXIT, type ExitCode } from './exit-code.ts';
import { withCheckedFile, type CheckedFile } from './with-checked-file.ts';

export interface TryOptions {
  /** The capability file. */
  readonly file: string;
  readonly log: CommandLog;
  readonly capability: string;
  /** Each `name=value`. */
  readonly params: readonly string[];
  /** A JSON object, or `@` and the name of a file with one. */
  readonly paramsJson: string | undefined;
  readonly keyName: string | undefined;
  /** Each `name=value`. */
  readonly claims: readonly string[];
  readonly subject: string | undefined;
  readonly issuer: string | undefined;
  readonly explain: boolean;
  readonly json: boolean;
}

type Pairs = readonly (readonly [name: string, value: string])[];

/** What the command line gives, before the types of the parameters are known. */
interface Arguments {
  readonly params: Pairs | Uint8Array;
  readonly claims: Pairs;
}

/** `svc-agent try`: calls a capability without a gateway and prints what comes back. */
export async function tryCommand(options: TryOptions): Promise<ExitCode> {
  const { file, log, capability, json } = options;
  const given = readArguments(options);
  if ('problem' in given) return misused(given.problem);
  const { stdout, stderr } = process;
  const report = (json ? jsonReport : textReport)({ capability, stdout, stderr });
  return withCheckedFile(
    {
      file,
      offline: false,
      only: capability,
      openLog: () => log,
      onWellFormed: () => {},
      showFaults(faults) {
        if (!json) return showFaults(faults, file, log);
        const found = { faults: faults.map(flatFault), ...detailsFields(faults, log) };
        stdout.write(`${JSON.stringify({ ok: false, capability, ...found })}\n`);
      },
      // The file may be right, and what asks another database can be called.
      exitCodeOf: (faults) => (faults.every(isNamedDatabaseAway) ? EXIT.failure : EXIT.usage),
    },
    (checked) => call(checked, options, given, report),
  );
}

async function call(
  { outcome, refuse }: CheckedFile,
  { capability: name, explain, log, ...options }: TryOptions,
  given: Arguments,
  report: TryReport,
): Promise<ExitCode> {
  const { verified } = outcome.step === 'verified' ? outcome : {};
  const capability = verified?.config.capabilities[0];
  if (verified === undefined || capability === undefined) throw new Error('cannot call: nothing is verified');
  const pairs = 'byteLength' in given.params ? [] : given.params;
  const [twice] = [...givenTwice(pairs, capability.params)];
  if (twice !== undefined)
    return misused(`\`--param\` gives ${JSON.stringify(twice)} twice, and it is no list`);
  const { keyName, subject, issuer } = options;
  const principal: ExamplePrincipal = {
    ...(keyName === undefined ? {} : { key_name: keyName }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(subject === undefined ? {} : { subject }),
    ...(given.claims.length === 0 ? {} : { claims: claimsOf(given.claims, capability.params) }),
  };
  const local = createLocalCaller(principal);
  if (!local.ok) return misused(local.problem);
  const params =
    'byteLength' in given.params ? given.params : Buffer.from(paramsOf(pairs, capability.params));
  try {
    const trial = await openTrial(verified, { observe: log.observe, explain });
    try {
      const answer = await trial.call({ capability: name, params, caller: local.caller });
      const more = answer.kind === 'error' ? detailsFields([answer], log) : {};
      report({ capability, principal, outcome: answer, isPlan: explain, more });
      return answer.kind === 'rows' ? EXIT.fine : EXIT.failure;
    } finally {
      await trial.close();
    }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    return refuse([databaseFault(error)]);
  }
}

function readArguments({
  params,
  paramsJson,
  claims: claimTexts,
}: TryOptions): Arguments | { readonly problem: string } {
  const claims = readAssignments(claimTexts);
  if (!claims.ok) return { problem: `\`--claim\` ${claims.problem}` };
  const pairs = readAssignments(params);
  if (!pairs.ok) return { problem: `\`--param\` ${pairs.problem}` };
  if (paramsJson === undefined) return { params: pairs.pairs, claims: claims.pairs };
  if (params.length > 0) return { problem: 'give either `--param` or `--params`' };
  if (!paramsJson.startsWith('@')) return { params: Buffer.from(paramsJson), claims: claims.pairs };
  const name = paramsJson.slice(1);
  try {
    return { params: readFileSync(name === '-' ? 0 : name), claims: claims.pairs };
  } catch (error) {
    return { problem: `cannot read ${name}, which \`--params\` names: ${readProblem(error)}` };
  }
}

function isNamedDatabaseAway(fault: VerificationFault): boolean {
  return isDatabaseAway(fault) && fault.path !== 'database';
}

function misused(message: string): ExitCode {
  process.stderr.write(`svc-agent: ${message}\n`);
  return EXIT.usage;
}
