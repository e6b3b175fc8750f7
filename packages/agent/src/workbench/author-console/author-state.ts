import { setTimeout as after } from 'node:timers/promises';
import { errorText } from '@svc/edge';
import type { AuthorFile, AuthoredCapability } from '@svc/console/data';
import { UNNAMED } from '../../capabilities/database-names.ts';
import type { PassedSave, RefusedSave } from '../check-save.ts';
import type { WarmProcess } from '../warm-process.ts';
import type { InspectOrder, InspectReport } from '../warm-report.ts';
import { capabilityOf, faultOf, findingOf, SHOWN_MAX } from './shown.ts';

/** What the author of the capability file sees of it. */
export interface AuthorState {
  passed(save: PassedSave): void;
  refused(save: RefusedSave): void;
  /** JSON. */
  file(): Promise<string>;
  /** JSON; undefined if the last accepted save has no such capability. */
  capability(name: string): Promise<string | undefined>;
}

export interface AuthorStateOptions {
  /** The capability file. */
  readonly file: string;
  /** Where it is served; undefined if it is not. */
  readonly url: string | undefined;
  readonly first: PassedSave;
  readonly inspect: WarmProcess['inspect'];
}

type Inspected = InspectReport['inspected'];

/** The last accepted save, and what the database said of it once somebody has looked. */
interface Accepted {
  readonly save: PassedSave;
  readonly plans: Map<string, Promise<Inspected>>;
  lint?: Promise<Inspected>;
}

/** An answer waits no longer for the database; the next answer has what came later. */
const WAIT_MS = 500;
/** With more plans waiting, an answer has no plan. */
const WAITING_MAX = 20;

/** Asks the warm process for one thing at a time, so that most of its connections are free for the next save. */
export function createAuthorState({ file, url, first, inspect }: AuthorStateOptions): AuthorState {
  let accepted: Accepted = { save: first, plans: new Map() };
  let refused: RefusedSave | undefined;
  let checkedAt = new Date();
  /** The last answer about the file, as long as it is right. */
  let text: string | undefined;
  let turn: Promise<unknown> = Promise.resolve();
  let waiting = 0;

  function inTurn(order: InspectOrder, of: Accepted): Promise<Inspected> {
    waiting += 1;
    const inspected = turn.then(async (): Promise<Inspected> => {
      if (of !== accepted) return { problem: 'the file has been saved since' };
      return inspect(order).catch((error: unknown) => ({ problem: errorText(error) }));
    });
    turn = inspected.finally(() => (waiting -= 1));
    return inspected;
  }

  function lintOf(of: Accepted): Promise<Inspected> {
    const { config } = of.save.verified;
    const order = {
      inspect: 'lint',
      capabilities: config.capabilities,
      warnings: of.save.warnings,
    } as const;
    of.lint ??= inTurn(order, of).then((inspected) => {
      text = undefined;
      // The next request asks again.
      if ('problem' in inspected) delete of.lint;
      return inspected;
    });
    return within(of.lint);
  }

  function planOf(name: string, of: Accepted): Promise<Inspected> {
    const asked = of.plans.get(name);
    if (asked !== undefined) return within(asked);
    const { config, prepared: all } = of.save.verified;
    const { database = UNNAMED } = config.capabilities.find((each) => each.name === name) ?? {};
    const prepared = all.find(({ capability }) => capability === name);
    if (prepared === undefined || waiting >= WAITING_MAX)
      return Promise.resolve({ problem: 'not yet known' });
    const plan = inTurn({ inspect: 'plan', database, prepared }, of).then((inspected) => {
      if ('problem' in inspected) of.plans.delete(name);
      return inspected;
    });
    of.plans.set(name, plan);
    return within(plan);
  }

  return {
    passed(save) {
      accepted = { save, plans: new Map() };
      refused = undefined;
      checkedAt = new Date();
      text = undefined;
    },
    refused(save) {
      refused = save;
      checkedAt = new Date();
      text = undefined;
    },
    async file() {
      if (text !== undefined) return text;
      const of = accepted;
      const lint = await lintOf(of);
      // The file was saved meanwhile: these findings are out of date.
      if (of !== accepted) return this.file();
      const { capabilities } = of.save.verified.config;
      const faults = refused?.faults ?? [];
      const known = 'lint' in lint ? lint.lint : undefined;
      const made = JSON.stringify({
        file,
        checked_at: checkedAt.toISOString(),
        accepted: refused === undefined,
        url,
        faults: faults.slice(0, SHOWN_MAX).map((fault) => faultOf(fault, refused?.content)),
        fault_count: faults.length,
        lint: known?.slice(0, SHOWN_MAX).map(findingOf),
        lint_count: known?.length,
        lint_problem: 'problem' in lint ? lint.problem : undefined,
        capabilities: capabilities.map(({ name, position }) => ({ name, line: position.line })),
      } satisfies AuthorFile);
      if (known !== undefined) text = made;
      return made;
    },
    async capability(name) {
      const of = accepted;
      const capability = of.save.verified.config.capabilities.find((each) => each.name === name);
      if (capability === undefined) return undefined;
      const plan = await planOf(name, of);
      return JSON.stringify({
        ...capabilityOf(capability),
        plan: 'plan' in plan ? plan.plan : undefined,
        plan_problem: 'problem' in plan ? plan.problem : undefined,
      } satisfies AuthoredCapability);
    },
  };
}

async function within(inspected: Promise<Inspected>): Promise<Inspected> {
  return Promise.race([inspected, after(WAIT_MS, { problem: 'not yet known' }, { ref: false })]);
}
