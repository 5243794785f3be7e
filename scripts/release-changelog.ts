/**
 * Dates the section of the changelog that is about to be released. It begins with
 * `## 0.2.0 (unreleased)`; its version is set to the released one.
 */
export function releaseChangelog(text: string, version: string, date: string): string {
  const heading = /^## \S+ \(unreleased\)$/m;
  if (!heading.test(text))
    throw new Error('CHANGELOG.md has no section "## VERSION (unreleased)".');
  const section = text.slice(text.search(heading)).split(/^## /m)[1] ?? '';
  if (!/^- /m.test(section)) throw new Error('The unreleased section of CHANGELOG.md is empty.');
  return text.replace(heading, `## ${version} (${date})`);
}
