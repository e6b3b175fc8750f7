import { styleText } from 'node:util';
import type { SerializedError } from 'vitest';
import {
  DefaultReporter,
  type TestModule,
  type TestState,
  type TestRunEndReason,
  type Vitest,
} from 'vitest/node';

/** The default report without the machine's paths in its heading, and with every skipped test by name. */
export default class RepositoryReporter extends DefaultReporter {
  override onInit(vitest: Vitest): void {
    vitest.logger.printBanner = () => vitest.logger.log(`\n RUN  vitest ${vitest.version}\n`);
    super.onInit(vitest);
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
    // One plain line that programs can read, whatever the report above looks like.
    const counts = [`${namesOf('passed').length} passed`, `${namesOf('failed').length} failed`];
    this.log([...counts, `${skipped.length} skipped`].join(', '));
  }

  #listSkipped(skipped: readonly string[]): void {
    this.log(styleText(['yellow', 'bold'], ` SKIPPED: ${skipped.length} test(s) did not run`));
    for (const name of skipped) this.log(styleText('yellow', `   ${name}`));
    this.log();
  }
}
