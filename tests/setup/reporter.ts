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
 * The default report without the machine's paths in its heading, and with every skipped test by name. A run of all tests
 * fails when no test of a tag has passed: each tag stands for a promise.
 */
export default class RepositoryReporter extends DefaultReporter {
  /** Whether the command line left nothing out. */
  #isWhole = false;

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
    const skipped = namesOf('skipped');
    if (skipped.length > 0) this.#listSkipped(skipped);
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

  #listSkipped(skipped: readonly string[]): void {
    this.log(styleText(['yellow', 'bold'], ` SKIPPED: ${skipped.length} test(s) did not run`));
    for (const name of skipped) this.log(styleText('yellow', `   ${name}`));
    this.log();
  }
}
