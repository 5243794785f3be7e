/**
 * The difference of two texts, line by line, as `diff -u` shows it: common beginnings and ends are
 * cut off first, what is left is compared by its longest common subsequence. Texts that differ in
 * more than a few thousand lines are shown as removed and added whole.
 */

export type DiffLine = { kind: 'same' | 'removed' | 'added'; text: string };

const CONTEXT_LINES = 3;
const CELLS_MAX = 4_000_000;

export function diffLines(before: string, after: string): DiffLine[] {
  const a = linesOf(before);
  const b = linesOf(after);
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (
    end < a.length - start &&
    end < b.length - start &&
    a[a.length - 1 - end] === b[b.length - 1 - end]
  ) {
    end += 1;
  }
  return [
    ...a.slice(0, start).map(same),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...a.slice(a.length - end).map(same),
  ];
}

/** Changed lines with a little of what stands around them; nothing when the texts are equal. */
export function unifiedDiff(before: string, after: string): string {
  if (before === after) return '';
  const lines = diffLines(before, after);
  const near = lines.map(() => false);
  lines.forEach(({ kind }, index) => {
    if (kind === 'same') return;
    const from = Math.max(0, index - CONTEXT_LINES);
    near.fill(true, from, index + CONTEXT_LINES + 1);
  });
  const shown: string[] = [];
  let [oldLine, newLine] = [1, 1];
  lines.forEach(({ kind, text }, index) => {
    if (near[index] && !near[index - 1]) shown.push(hunkHead(lines, near, index, oldLine, newLine));
    if (near[index]) shown.push(`${kind === 'same' ? ' ' : kind === 'removed' ? '-' : '+'}${text}`);
    if (kind !== 'added') oldLine += 1;
    if (kind !== 'removed') newLine += 1;
  });
  return shown.join('\n');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split('\n');
}

function same(text: string): DiffLine {
  return { kind: 'same', text };
}

function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const removed = a.map((text): DiffLine => ({ kind: 'removed', text }));
  const added = b.map((text): DiffLine => ({ kind: 'added', text }));
  if (a.length === 0 || b.length === 0 || (a.length + 1) * (b.length + 1) > CELLS_MAX) {
    return [...removed, ...added];
  }
  // lengths[i * width + j]: the longest common subsequence of what follows a[i] and b[j].
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const below = lengths[(i + 1) * width + j] as number;
      const right = lengths[i * width + j + 1] as number;
      lengths[i * width + j] =
        a[i] === b[j] ? (lengths[(i + 1) * width + j + 1] as number) + 1 : Math.max(below, right);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push(same(a[i] as string));
      i += 1;
      j += 1;
    } else if ((lengths[(i + 1) * width + j] as number) >= (lengths[i * width + j + 1] as number)) {
      lines.push(removed[i++] as DiffLine);
    } else lines.push(added[j++] as DiffLine);
  }
  return [...lines, ...removed.slice(i), ...added.slice(j)];
}

function hunkHead(
  lines: readonly DiffLine[],
  near: readonly boolean[],
  from: number,
  oldLine: number,
  newLine: number,
): string {
  const stop = near.indexOf(false, from);
  const hunk = lines.slice(from, stop === -1 ? undefined : stop);
  const count = (without: DiffLine['kind']): number =>
    hunk.filter(({ kind }) => kind !== without).length;
  return `@@ -${oldLine},${count('added')} +${newLine},${count('removed')} @@`;
}
