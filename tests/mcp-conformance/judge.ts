/** One check of a scenario, as the suite writes it down; of its fields those that matter here. */
export interface Check {
  readonly id: string;
  readonly name: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

export interface Outcome {
  readonly scenario: string;
  readonly checks: readonly Check[];
  /** Why the scenario has no results; it fails then, whatever the list says. */
  readonly fault?: string;
}

/** An entry of not-applicable.json: checks of one scenario that cannot pass, and why. */
export interface Exemption {
  readonly scenario: string;
  /**
   * Exactly the checks that fail for this reason, each as `id` (all checks with it) or `id (name)` (one of
   * several with it). Empty for a scenario that checks nothing of a server like the gateway.
   */
  readonly checks: readonly string[];
  readonly reason: string;
}

export interface Verdict {
  readonly scenario: string;
  readonly result: 'passed' | 'not applicable' | 'failed';
  /** How many checks passed. */
  readonly passed: number;
  /** Checks that the suite itself left out. */
  readonly skipped: readonly string[];
  readonly exemptions: readonly Exemption[];
  /** What is wrong, one readable line each; empty unless the result is `failed`. */
  readonly faults: readonly string[];
}

/** It looks at the form of messages, whatever they are about: passing it says nothing of the scenario. */
const FORM_CHECK = 'wire-schema-valid';

/**
 * Compares what the suite found with the list of what does not apply, both of one revision. Warnings count as
 * failures. A failure outside the list, an entry that is no longer true and a scenario that did not run all
 * make a scenario fail; `faults` are those that belong to no scenario of the suite.
 */
export function judge(
  listed: readonly string[],
  outcomes: readonly Outcome[],
  exemptions: readonly Exemption[],
): { readonly verdicts: readonly Verdict[]; readonly faults: readonly string[] } {
  const known = new Set(listed);
  const strangers = exemptions.filter(({ scenario }) => !known.has(scenario));
  const surplus = outcomes.filter(({ scenario }) => !known.has(scenario));
  return {
    verdicts: listed.map((scenario) =>
      judgeScenario(
        scenario,
        outcomes.find((outcome) => outcome.scenario === scenario),
        exemptions.filter((exemption) => exemption.scenario === scenario),
      ),
    ),
    faults: [
      ...(listed.length === 0 ? ['the suite lists no scenario'] : []),
      ...strangers.map(({ scenario }) => `the list names ${scenario}, which the suite does not have`),
      ...surplus.map(({ scenario }) => `${scenario} ran, which the suite does not list`),
    ],
  };
}

function judgeScenario(
  scenario: string,
  outcome: Outcome | undefined,
  exemptions: readonly Exemption[],
): Verdict {
  const checks = outcome?.checks ?? [];
  const notRun = outcome === undefined ? 'it did not run' : outcome.fault;
  const faults = notRun === undefined ? faultsOf(checks, exemptions) : [notRun];
  const nothingOfItApplies = exemptions.length > 0 && !checks.some(isGoodNews);
  return {
    scenario,
    result: faults.length > 0 ? 'failed' : nothingOfItApplies ? 'not applicable' : 'passed',
    passed: checks.filter(({ status }) => status === 'SUCCESS').length,
    skipped: checks.filter(({ status }) => status === 'SKIPPED').map(({ id }) => id),
    exemptions,
    faults,
  };
}

function faultsOf(checks: readonly Check[], exemptions: readonly Exemption[]): readonly string[] {
  const keys = exemptions.flatMap((exemption) => exemption.checks);
  const unexpected = checks.filter((check) => isBad(check) && !keys.some((key) => names(key, check)));
  const asserted = checks.some((check) => isBad(check) || isGoodNews(check));
  const isListedAsEmpty = exemptions.some((exemption) => exemption.checks.length === 0);
  return [
    ...unexpected.map(
      ({ id, name, status, errorMessage }) => `${status} ${id} (${name}): ${errorMessage ?? 'no message'}`,
    ),
    ...keys.flatMap((key) => staleness(key, checks)),
    ...(!asserted && !isListedAsEmpty
      ? ['it checked nothing, and the list does not say that this is as it should be']
      : []),
    ...(asserted && isListedAsEmpty ? ['the list says that it checks nothing, but it does'] : []),
  ];
}

function staleness(key: string, checks: readonly Check[]): readonly string[] {
  const named = checks.filter((check) => names(key, check));
  if (named.length === 0) return [`the list names its check ${key}, which it does not have`];
  const good = named.filter((check) => !isBad(check));
  if (good.length === 0) return [];
  const which = good.length === named.length ? 'passes' : 'passes in part';
  return [`the list names its check ${key}, which ${which}`];
}

function names(key: string, { id, name }: Check): boolean {
  return key === id || key === `${id} (${name})`;
}

function isGoodNews({ id, status }: Check): boolean {
  return status === 'SUCCESS' && id !== FORM_CHECK;
}

function isBad({ status }: Check): boolean {
  return status === 'FAILURE' || status === 'WARNING';
}
