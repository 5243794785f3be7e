import { structuredPatch } from 'diff';

const CONTEXT_LINES = 3;
/** More changed lines than anyone reads; the cost grows with their square. */
const EDITS_MAX = 500;
/** The comparisons are at most the number of lines times the number of edits. */
const COMPARISONS_MAX = 4_000_000;

/**
 * The changed lines of two texts with some context, in unified diff format; empty when they are equal.
 * Texts with too many differences are shown as removed and added completely: finding the shortest diff
 * of hostile texts would take minutes. The limit counts work rather than time, so that the same texts
 * always have the same diff.
 */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return '';
  const [a, b] = [withFinalNewline(before), withFinalNewline(after)];
  const lines = countLines(a) + countLines(b);
  const patch = structuredPatch('', '', a, b, '', '', {
    context: CONTEXT_LINES,
    maxEditLength: Math.min(EDITS_MAX, Math.floor(COMPARISONS_MAX / lines)),
  });
  if (!patch) return replacement(a, b);
  return patch.hunks
    .flatMap(({ oldStart, oldLines, newStart, newLines, lines: changes }) => [
      `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`,
      ...changes,
    ])
    .join('\n');
}

/** Avoids a "no newline at end of file" marker, which means nothing for the text of a field. */
function withFinalNewline(text: string): string {
  return text === '' ? '' : `${text}\n`;
}

function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) lines += 1;
  return lines;
}

/** One hunk that removes and adds every line. */
function replacement(before: string, after: string): string {
  const lines = (text: string, sign: string): string[] =>
    text === ''
      ? []
      : text
          .slice(0, -1)
          .split('\n')
          .map((line) => sign + line);
  const [removed, added] = [lines(before, '-'), lines(after, '+')];
  return [`@@ -1,${removed.length} +1,${added.length} @@`, ...removed, ...added].join('\n');
}
