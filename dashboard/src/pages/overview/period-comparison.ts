/** How a figure changed since the period before. */
export interface Change {
  direction: 'up' | 'down' | 'same';
  tone: 'good' | 'bad' | 'plain';
  text: string;
}

const percent = new Intl.NumberFormat('en', { style: 'percent', maximumFractionDigits: 0 });
const points = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

/** A smaller difference between two rates is noise. */
const SAME_RATE = 0.0005;

/** A relative change. More or less mail is neither good nor bad. */
export function changeOfCount(now: number, before: number): Change {
  const ratio = (now - before) / before;
  const text = percent.format(Math.abs(ratio));
  return { direction: directionOf(Math.abs(ratio) < 0.005 ? 0 : ratio), tone: 'plain', text };
}

/** The difference in percentage points; `rising` says what a higher rate means. */
export function changeOfRate(
  now: number | null,
  before: number | null | undefined,
  rising: 'good' | 'bad',
): Change | undefined {
  if (now === null || before == null) return undefined;
  const difference = now - before;
  const direction = directionOf(Math.abs(difference) < SAME_RATE ? 0 : difference);
  const falling = rising === 'good' ? 'bad' : 'good';
  const tone = direction === 'same' ? 'plain' : direction === 'up' ? rising : falling;
  return { direction, tone, text: `${points.format(Math.abs(difference) * 100)} pp` };
}

function directionOf(difference: number): Change['direction'] {
  if (difference === 0) return 'same';
  return difference > 0 ? 'up' : 'down';
}
