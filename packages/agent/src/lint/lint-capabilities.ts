import type { Fault } from '../capabilities/fault.ts';
import type { Capability } from '../capabilities/model.ts';
import { atOnce } from './at-once.ts';
import { findingOf, type Finding } from './finding.ts';
import { missingDescriptions } from './missing-descriptions.ts';
import { namesAlike } from './names-alike.ts';
import { personalFields } from './personal-fields.ts';
import { sizes } from './sizes.ts';
import { unboundedTexts } from './unbounded-texts.ts';

/** What is known of capabilities beside their definition. */
export interface KnownOfCapabilities {
  /** What the checks warn of. */
  readonly warnings: readonly Fault[];
  /** Names of those whose rows come in no certain order. */
  readonly unordered: readonly string[];
}

const order = findingOf('order-missing', 'warn');
const example = findingOf('example-missing', 'advice');

/** The checks warn of all missing descriptions at once, the first of which they name; here each is a finding of its own. */
const OF_DESCRIPTION = /^capabilities\.[a-z0-9_]+\.description$/;

/** All findings in the order of the file. Those that callers are not shown are not asked for what is written for callers. */
export function lintCapabilities(
  capabilities: readonly Capability[],
  { warnings, unordered }: KnownOfCapabilities,
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
  ];
  return findings.toSorted(byPosition);
}

function ofCheck(warning: Fault): Finding {
  const capability = /^capabilities\.([a-z][a-z0-9_]*)/.exec(warning.path)?.[1] ?? '';
  return { capability, rule: 'check', level: 'warn', ...warning };
}

function missingExample(capability: Capability): Finding {
  const message = 'has no `examples`: add a call and what it gives, for callers and for `svc-agent test`';
  return example(capability, capability, message);
}

function missingOrder(capability: Capability): Finding {
  const message = 'has no ORDER BY: rows come in any order, and a cap leaves out any of them; add one';
  return order(capability, { path: 'sql', position: capability.sqlPosition }, message);
}

function byPosition(a: Finding, b: Finding): number {
  const line = (a.position?.line ?? 0) - (b.position?.line ?? 0);
  return line === 0 ? (a.position?.column ?? 0) - (b.position?.column ?? 0) : line;
}
