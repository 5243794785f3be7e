import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Notes the tests that passed at their second try alone, for the gate to tell. */
export default class SecondTries implements Reporter {
  readonly #file = process.env.POSTRIDER_SECOND_TRIES;

  onTestRunEnd(modules: readonly TestModule[]): void {
    if (!this.#file) return;
    const names = modules.flatMap((module) =>
      [...module.children.allTests()]
        .filter((test) => test.diagnostic()?.flaky)
        .map((test) => `${module.relativeModuleId}: ${test.fullName}`),
    );
    writeFileSync(this.#file, JSON.stringify(names));
  }
}
