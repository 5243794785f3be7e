import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { LongestFirst } from './longest-first.ts';

test('long files are first within their project, and projects are not mixed', async () => {
  const sequencer = new LongestFirst({
    cache: { getTestSpecificationResult: () => ({ failed: false, duration: 1 }) },
  } as unknown as Vitest);
  const sorted = await sequencer.sort([
    specification('scenario', 'alarms'),
    specification('browser', 'live-events'),
    specification('scenario', 'nodes-survive-crashes'),
    specification('browser', 'keyboard-navigation'),
    specification('browser', 'accessibility-and-layout'),
  ]);
  expect(sorted.map(({ moduleId }) => moduleId)).toEqual([
    '/browser/accessibility-and-layout.test.ts',
    '/browser/keyboard-navigation.test.ts',
    '/browser/live-events.test.ts',
    '/scenario/nodes-survive-crashes.test.ts',
    '/scenario/alarms.test.ts',
  ]);
});

function specification(project: string, name: string): TestSpecification {
  return {
    moduleId: `/${project}/${name}.test.ts`,
    project: { name: project, config: { isolate: false, sequence: { groupOrder: 0 } } },
  } as unknown as TestSpecification;
}
