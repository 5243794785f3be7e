/**
 * The known name that somebody most likely meant by one that is not known: the same letters in another
 * spelling (`replyTo` for `reply_to`), or a slip of the fingers (`subjct`). Undefined when nothing is
 * near, or two are as near.
 */
export function likelyMeant(given: string, known: readonly string[]): string | undefined {
  if (given.length > LENGTH_MAX) return undefined;
  const letters = lettersOf(given);
  const same = known.filter((name) => lettersOf(name) === letters);
  if (same.length > 0) return same.length === 1 ? same[0] : undefined;
  const near = known.filter((name) => isSlip(letters, lettersOf(name)));
  return near.length === 1 ? near[0] : undefined;
}

/** Names come from strangers; nobody means anything by a longer one. */
const LENGTH_MAX = 64;

/** In a shorter word one slip makes another word. */
const SLIP_LENGTH_MIN = 4;

function lettersOf(name: string): string {
  return name.toLowerCase().replace(/[_\-\s]/g, '');
}

/** One letter too many, too few or another, or two that changed places. */
function isSlip(given: string, meant: string): boolean {
  const [short, long] = given.length <= meant.length ? [given, meant] : [meant, given];
  if (short.length < SLIP_LENGTH_MIN || long.length - short.length > 1) return false;
  let from = 0;
  while (from < short.length && short[from] === long[from]) from += 1;
  if (short.length < long.length) return short.slice(from) === long.slice(from + 1);
  if (short.slice(from + 1) === long.slice(from + 1)) return true;
  const swapped = `${short[from + 1]}${short[from]}`;
  return long.slice(from, from + 2) === swapped && short.slice(from + 2) === long.slice(from + 2);
}
