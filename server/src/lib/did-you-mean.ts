/**
 * Suggests the known name that an unknown one was probably meant to be: the same letters in another
 * spelling (`replyTo` for `reply_to`), or the nearest name within a few typos (`subjct` for `subject`).
 * Undefined when nothing is close enough, or when two names are equally close.
 */
export function didYouMean(given: string, known: Iterable<string>): string | undefined {
  if (given.length > LENGTH_MAX) return undefined;
  const wanted = normalize(given);
  let nearest: string[] = [];
  let limit = typosAllowed(wanted);
  for (const name of known) {
    const distance = editDistance(wanted, normalize(name), limit);
    if (distance > limit) continue;
    if (distance < limit) nearest = [];
    limit = distance;
    nearest.push(name);
  }
  return nearest.length === 1 ? nearest[0] : undefined;
}

/** Names come from untrusted input; a longer one is never a typo. */
const LENGTH_MAX = 64;

/** One typo turns a very short word into a different word; a long word can have two. */
function typosAllowed(word: string): number {
  if (word.length < 3) return 0;
  return word.length < 8 ? 1 : 2;
}

function normalize(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, '');
}

/**
 * Optimal string alignment distance: insertions, deletions, substitutions and transpositions of
 * neighbors. Returns a number above `limit` as soon as the distance must exceed it, and only computes
 * the diagonal band that can stay within it.
 */
function editDistance(a: string, b: string, limit: number): number {
  const tooFar = limit + 1;
  if (Math.abs(a.length - b.length) > limit) return tooFar;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const row: number[] = [i];
    let best = i;
    const end = Math.min(b.length, i + limit);
    for (let j = Math.max(1, i - limit); j <= end; j++) {
      const same = a[i - 1] === b[j - 1];
      let cost = (last[j - 1] ?? tooFar) + (same ? 0 : 1);
      cost = Math.min(cost, (last[j] ?? tooFar) + 1, (row[j - 1] ?? tooFar) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, (beforeLast[j - 2] ?? tooFar) + 1);
      }
      row[j] = cost;
      best = Math.min(best, cost);
    }
    if (best > limit) return tooFar;
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? tooFar;
}
