import { readFileSync } from 'node:fs';
import { readProblem, type Given } from '@svc/edge';
import type { Caller } from '../capabilities/caller.ts';
import { UNNAMED } from '../capabilities/database-names.ts';
import type { ExamplePrincipal } from '../capabilities/example.ts';
import type { Capability } from '../capabilities/model.ts';
import { compileParameters, InvalidParams } from '../capabilities/parameters.ts';
import { compilePinned } from '../capabilities/pinned-parameters.ts';
import { driverOf } from '../databases/drivers.ts';
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
import type { VerifiedAgent } from '../start-up/report.ts';
import { complain, EXIT, type CommandInput, type ExitCode } from './command.ts';
import { detailsFields, showFaults } from './command-log.ts';
import { flatFault } from './print-faults.ts';
import { withCheckedFile, type CheckedFile } from './with-checked-file.ts';

type Pairs = readonly (readonly [name: string, value: string])[];

/** What the command line gives, before the types of the parameters are known. */
interface Arguments {
  readonly params: Pairs | Uint8Array;
  readonly claims: Pairs;
}

/** `svc-agent try`: calls a capability without a gateway and prints what comes back. */
export async function tryCommand(input: CommandInput): Promise<ExitCode> {
  const { given, file, log, json } = input;
  const [capability = ''] = given.operands;
  const typed = readArguments(given);
  if ('problem' in typed) return complain(typed.problem);
  const { stdout, stderr } = process;
  const report = (json ? jsonReport : textReport)({ capability, stdout, stderr });
  return withCheckedFile(
    {
      file,
      only: capability,
      openLog: () => log,
      showFaults(faults) {
        if (!json) return showFaults(faults, file, log);
        const found = { faults: faults.map(flatFault), ...detailsFields(faults, log) };
        stdout.write(`${JSON.stringify({ ok: false, capability, ...found })}\n`);
      },
      // The file may be right, and the capabilities of other databases can be called.
      exitCodeOf: (faults) => (faults.every(isNamedDatabaseAway) ? EXIT.failure : EXIT.usage),
    },
    (checked) => call(checked, input, typed, report),
  );
}

async function call(
  { outcome, refuse }: CheckedFile,
  { given, log }: CommandInput,
  typed: Arguments,
  report: TryReport,
): Promise<ExitCode> {
  const { verified } = outcome.step === 'verified' ? outcome : {};
  const capability = verified?.config.capabilities[0];
  if (verified === undefined || capability === undefined) throw new Error('cannot call: nothing is verified');
  const pairs = 'byteLength' in typed.params ? [] : typed.params;
  const [twice] = [...givenTwice(pairs, capability.params)];
  if (twice !== undefined)
    return complain(`\`--param\` gives ${JSON.stringify(twice)} twice, but it is not a list`);
  const keyName = given.value('as');
  const issuer = given.value('issuer');
  const subject = given.value('subject');
  const principal: ExamplePrincipal = {
    ...(keyName === undefined ? {} : { key_name: keyName }),
    ...(issuer === undefined ? {} : { issuer }),
    ...(subject === undefined ? {} : { subject }),
    ...(typed.claims.length === 0 ? {} : { claims: claimsOf(typed.claims, capability.params) }),
  };
  const local = createLocalCaller(principal);
  if (!local.ok) return complain(local.problem);
  const params =
    'byteLength' in typed.params ? typed.params : Buffer.from(paramsOf(pairs, capability.params));
  if (given.has('sql')) return printStatement(verified, capability, params, local.caller);
  const explain = given.has('explain');
  try {
    const trial = await openTrial(verified, { observe: log.observe, explain });
    try {
      const answer = await trial.call({ capability: capability.name, params, caller: local.caller });
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

/** A parameter that is taken from who calls stands in every statement, so it is no fault if it is not there. */
async function printStatement(
  { config, prepared }: VerifiedAgent,
  capability: Capability,
  params: Uint8Array,
  caller: Caller,
): Promise<ExitCode> {
  let values: Record<string, unknown>;
  try {
    values = compileParameters(capability)(params);
  } catch (error) {
    if (!(error instanceof InvalidParams)) throw error;
    return complain(error.message);
  }
  compilePinned(capability.params)?.(caller, values);
  const settings = config.databases[capability.database ?? UNNAMED];
  const [query] = prepared;
  if (settings === undefined || query === undefined) throw new Error('cannot print: nothing is verified');
  const database = driverOf(settings.driver).connect(settings, () => {});
  try {
    const statement = database.prepare(query).statementOf?.(values) ?? capability.sql;
    process.stdout.write(`${statement.trimEnd()}\n`);
    return EXIT.fine;
  } catch (error) {
    if (error instanceof DatabaseError && error.advice !== undefined) return complain(error.advice);
    throw error;
  } finally {
    await database.close();
  }
}

function readArguments(given: Given): Arguments | { readonly problem: string } {
  const claims = readAssignments(given.values('claim'));
  if (!claims.ok) return { problem: `\`--claim\` ${claims.problem}` };
  const pairs = readAssignments(given.values('param'));
  if (!pairs.ok) return { problem: `\`--param\` ${pairs.problem}` };
  const paramsJson = given.value('params');
  if (paramsJson === undefined) return { params: pairs.pairs, claims: claims.pairs };
  if (pairs.pairs.length > 0) return { problem: 'give either `--param` or `--params`' };
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
