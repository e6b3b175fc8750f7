import { nearest } from '@svc/edge';
import { byPosition, type Fault } from '../capabilities/fault.ts';
import type { Capability, ParamSchema } from '../capabilities/model.ts';
import type { ClauseAdvice } from '../databases/driver/driver.ts';
import { sensitivityOf } from '../proposals/personal-columns.ts';
import { clauseFindings } from './clause-findings.ts';
import { atOnce, findingOf, type Finding } from './finding.ts';
import { missingDescriptions } from './missing-descriptions.ts';
import { sizes } from './sizes.ts';

/** What is known of capabilities beside their definition. */
export interface KnownOfCapabilities {
  /** From the checks of the file. */
  readonly warnings: readonly Fault[];
  /** Names of the capabilities whose rows come in no certain order. */
  readonly unordered: readonly string[];
  readonly ofClauses: readonly ClauseAdvice[];
}

const noOrder = findingOf('order-missing', 'warn');
const noExample = findingOf('example-missing', 'advice');
const alikeName = findingOf('name-alike', 'warn');
const unbounded = findingOf('text-unbounded', 'warn');
const credential = findingOf('personal-field', 'error');
const personal = findingOf('personal-field', 'warn');

/** One warning of the checks stands for all missing descriptions; here each has a finding of its own. */
const OF_DESCRIPTION = /^capabilities\.[a-z0-9_]+\.description$/;

/** All findings in the order of the file. Hidden capabilities need no texts for callers. */
export function lintCapabilities(
  capabilities: readonly Capability[],
  { warnings, unordered, ofClauses }: KnownOfCapabilities,
): readonly Finding[] {
  const arbitrary = new Set(unordered);
  const shown = capabilities.filter(({ exposeInOpenapi }) => exposeInOpenapi);
  const findings = [
    ...warnings.filter(({ path }) => !OF_DESCRIPTION.test(path)).map(ofCheck),
    ...missingDescriptions(shown),
    ...atOnce(
      shown.filter(({ examples }) => examples === undefined).map(missingExample),
      'have no `examples`: add calls and what they give, for callers and for `svc-agent test`',
    ),
    ...sizes(shown),
    ...namesAlike(capabilities),
    ...capabilities.flatMap(unboundedTexts),
    ...capabilities.flatMap(personalFields),
    ...capabilities.filter(({ name, limits }) => limits.maxRows > 1 && arbitrary.has(name)).map(missingOrder),
    ...clauseFindings(capabilities, ofClauses),
  ];
  return findings.toSorted(byPosition);
}

function ofCheck(warning: Fault): Finding {
  const capability = /^capabilities\.([a-z][a-z0-9_]*)/.exec(warning.path)?.[1] ?? '';
  return { capability, rule: 'check', level: 'warn', ...warning };
}

function missingExample(capability: Capability): Finding {
  const message = 'has no `examples`: add a call and what it gives, for callers and for `svc-agent test`';
  return noExample(capability, capability, message);
}

function missingOrder(capability: Capability): Finding {
  const message = 'has no ORDER BY: rows come in any order, and a cap leaves out any of them; add one';
  return noOrder(capability, { path: 'sql', position: capability.sqlPosition }, message);
}

/** Models mix up names that differ by one letter, or by two letters swapped, such as get_film and get_films. */
function namesAlike(capabilities: readonly Capability[]): readonly Finding[] {
  /** By what is left of a name without one of its letters: similar names share such a rest, so not every pair is compared. */
  const byRest = new Map<string, string[]>();
  // report_1 and report_11 are two of a numbered series.
  const withoutDigits = (name: string): string => name.replaceAll(/\d+/g, '');
  return capabilities.flatMap((capability) => {
    const { name } = capability;
    const rests = [name, ...Array.from(name, (_, at) => `${name.slice(0, at)}${name.slice(at + 1)}`)];
    const before = rests.flatMap((rest) => byRest.get(rest) ?? []);
    for (const rest of new Set(rests)) byRest.set(rest, [...(byRest.get(rest) ?? []), name]);
    const others = before.filter((other) => withoutDigits(other) !== withoutDigits(name));
    const alike = nearest(name, others, 1);
    if (alike === undefined) return [];
    const message = `has almost the name of \`${alike}\`: name what sets them apart`;
    return [alikeName(capability, capability, message)];
  });
}

/** A text as long as a request may be would reach the database and its comparisons. */
function unboundedTexts(capability: Capability): readonly Finding[] {
  return capability.params
    .filter(({ from, schema }) => from === undefined && isUnbounded(schema.items ?? schema))
    .map(({ name, position }) => {
      const message = 'may be of any length: give it a `maxLength`';
      return unbounded(capability, { path: `params.${name}`, position }, message);
    });
}

/** Every format but that of URIs bounds the length. */
function isUnbounded({ type, maxLength, enum: allowed, format = 'uri' }: ParamSchema): boolean {
  return type === 'string' && maxLength === undefined && allowed === undefined && format === 'uri';
}

/** Fields whose name or description suggests a credential, or something about a person. */
function personalFields(capability: Capability): readonly Finding[] {
  return capability.result.flatMap(({ name, type, description: comment = '', position }) => {
    const kind = type === 'string' ? 'text' : type;
    const sensitivity = sensitivityOf({ table: capability.name, name, kind, comment });
    if (sensitivity === undefined) return [];
    const [finding, message] =
      sensitivity.kind === 'credential'
        ? [credential, `looks like a credential (${sensitivity.because}): leave it out, or rename it`]
        : [personal, `looks personal (${sensitivity.because}): leave it out unless every caller may see it`];
    return [finding(capability, { path: `result.${name}`, position }, message)];
  });
}
