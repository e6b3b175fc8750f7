import { styleText } from 'node:util';
import type { SerializedError } from 'vitest';
import {
  DefaultReporter,
  type TestModule,
  type TestState,
  type TestRunEndReason,
  type TestSpecification,
  type Vitest,
} from 'vitest/node';

/**
 * The default report without the machine's paths in its heading, with every skipped test by name, and with the time that
 * each file took. A run of all tests fails when no test of a tag has passed: each tag stands for a promise.
 */
export default class RepositoryReporter extends DefaultReporter {
  /** Whether the command line left nothing out. */
  #isWhole = false;
  readonly #notTried: readonly string[];

  /** `notTried`: what a run of all tests could not try on this machine, with the command that tries it. */
  constructor(notTried: readonly string[] = []) {
    super();
    this.#notTried = notTried;
  }

  override onInit(vitest: Vitest): void {
    vitest.logger.printBanner = () => vitest.logger.log(`\n RUN  vitest ${vitest.version}\n`);
    super.onInit(vitest);
  }

  override onTestRunStart(specifications: readonly TestSpecification[]): void {
    super.onTestRunStart(specifications);
    const { testNamePattern, tagsFilter = [], project } = this.ctx.config;
    if (testNamePattern !== undefined || tagsFilter.length > 0 || project.length > 0) return;
    // Before the first test has begun.
    void this.ctx.globTestSpecifications().then((all) => {
      this.#isWhole = specifications.length === all.length;
    });
  }

  override onTestRunEnd(
    modules: readonly TestModule[],
    errors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): void {
    super.onTestRunEnd(modules, errors, reason);
    const namesOf = (state: TestState): readonly string[] =>
      modules.flatMap((module) =>
        [...module.children.allTests(state)].map((test) => `${module.relativeModuleId} > ${test.fullName}`),
      );
    this.#listTimes(modules);
    const skipped = namesOf('skipped');
    if (skipped.length > 0) this.#listSkipped(skipped);
    if (this.#isWhole)
      for (const what of this.#notTried) this.log(styleText(['yellow', 'bold'], ` NOT TRIED: ${what}\n`));
    if (reason !== 'interrupted' && this.#isWhole) this.#expectEachTagIn(modules);
    // One plain line that programs can read, whatever the report above looks like.
    const counts = [`${namesOf('passed').length} passed`, `${namesOf('failed').length} failed`];
    this.log([...counts, `${skipped.length} skipped`].join(', '));
  }

  #expectEachTagIn(modules: readonly TestModule[]): void {
    const passed = modules.flatMap((module) => [...module.children.allTests('passed')]);
    const proven = new Set(passed.flatMap(({ tags }) => tags));
    const unproven = this.ctx.config.tags.filter(({ name }) => !proven.has(name));
    if (unproven.length === 0) return;
    process.exitCode = 1;
    this.error(styleText(['red', 'bold'], ` UNPROVEN: ${unproven.length} tag(s) without a test that passed`));
    for (const { name, description = '' } of unproven) this.error(`   ${name}: ${description}`);
  }

  /** The slowest first, without those of less than a second. */
  #listTimes(modules: readonly TestModule[]): void {
    const times = modules.map((module) => {
      const { duration, collectDuration, setupDuration } = module.diagnostic();
      return { file: module.relativeModuleId, seconds: (duration + collectDuration + setupDuration) / 1000 };
    });
    const listed = times.filter(({ seconds }) => seconds >= 1).toSorted((a, b) => b.seconds - a.seconds);
    if (listed.length < 2) return;
    this.log(
      ` TIMES: seconds by file; the other ${times.length - listed.length} took less than one second each`,
    );
    for (const { file, seconds } of listed) this.log(`   ${seconds.toFixed(1).padStart(6)}  ${file}`);
    this.log();
  }

  #listSkipped(skipped: readonly string[]): void {
    this.log(styleText(['yellow', 'bold'], ` SKIPPED: ${skipped.length} test(s) did not run`));
    for (const name of skipped) this.log(styleText('yellow', `   ${name}`));
    this.log();
  }
}
