import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from './project-files.ts';
import { SCENARIOS, scenarioFiles, testsFor } from './test-changed.ts';

test('every module is listed, with scenarios that exist but not most of them', () => {
  const modules = readdirSync(path.join(ROOT, 'server/src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  expect(Object.keys(SCENARIOS).sort()).toEqual(modules.sort());
  const scenarios = scenarioFiles();
  for (const [module, starts] of Object.entries(SCENARIOS)) {
    for (const start of starts) {
      const matched = scenarios.filter((name) => name.startsWith(start)).length;
      expect(matched, `${module}: ${start}`).toBeGreaterThan(0);
    }
    const selected = scenarios.filter((name) => starts.some((start) => name.startsWith(start)));
    expect(selected.length, module).toBeLessThan(scenarios.length / 4);
  }
});

test('a source file selects its importers and the scenarios of its module', () => {
  const { related, tests } = testsFor(['server/src/tracking/track-html.ts', 'docs/webhooks.md']);
  expect(related).toEqual(['server/src/tracking/track-html.ts']);
  expect(tests).toEqual(['server/test/scenarios/tracking/open-and-click-tracking.test.ts']);
});

test('a unit test selects itself only, and a scenario is run as it is', () => {
  const scenario = 'server/test/scenarios/stats/alarms.test.ts';
  const unit = 'server/src/webhooks/requests/sign-webhook.test.ts';
  expect(testsFor([unit, scenario])).toEqual({ related: [unit], tests: [scenario] });
});
