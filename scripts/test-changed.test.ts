import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './project-files.ts';
import { SCENARIOS, testsFor } from './test-changed.ts';

const scenarios = readdirSync(path.join(ROOT, 'server/test/scenarios'));

test('every module is listed, with a pattern that matches some scenarios but not all', () => {
  const modules = readdirSync(path.join(ROOT, 'server/src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(Object.keys(SCENARIOS).sort()).toEqual(modules.sort());
  for (const [module, pattern] of Object.entries(SCENARIOS)) {
    if (!pattern) continue;
    const matched = scenarios.filter((name) => pattern.test(name)).length;
    expect(matched, module).toBeGreaterThan(0);
    expect(matched, module).toBeLessThan(scenarios.length / 4);
  }
});

test('a source file selects its importers and the scenarios of its module', () => {
  const { related, tests } = testsFor(['server/src/tracking/track-html.ts', 'docs/webhooks.md']);
  expect(related).toEqual(['server/src/tracking/track-html.ts']);
  expect(tests).toEqual(['server/test/scenarios/open-and-click-tracking.test.ts']);
});

test('a unit test selects itself only, and a scenario is run as it is', () => {
  const scenario = 'server/test/scenarios/alarms.test.ts';
  const unit = 'server/src/webhooks/sign-webhook.test.ts';
  expect(testsFor([unit, scenario])).toEqual({ related: [unit], tests: [scenario] });
});
