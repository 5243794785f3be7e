import { expect, test } from 'vitest';
import { releaseChangelog } from './release-changelog.ts';

const CHANGELOG =
  '# Changelog\n\n## 0.2.0 (unreleased)\n\n### Added\n\n- It.\n\n## 0.1.0 (2026-11-20)\n\n- All.\n';

test('the unreleased section gets its version and date, older ones stay', () => {
  const released = releaseChangelog(CHANGELOG, '1.0.0', '2026-12-01');
  expect(released).toBe(CHANGELOG.replace('0.2.0 (unreleased)', '1.0.0 (2026-12-01)'));
});

test('a release without changes is refused', () => {
  const nothing = CHANGELOG.replace('- It.', '');
  expect(() => releaseChangelog(nothing, '1.0.0', '2026-12-01')).toThrow('is empty');
  const released = releaseChangelog(CHANGELOG, '1.0.0', '2026-12-01');
  expect(() => releaseChangelog(released, '1.1.0', '2026-12-02')).toThrow('has no section');
});
