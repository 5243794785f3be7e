/**
 * Reads a QR code (ISO/IEC 18004) as a phone would, from its modules: byte mode, versions 1 to 9. A
 * reader of its own, so that what draws the codes is judged by something else. It corrects no errors:
 * on a screen that we draw there are none to forgive.
 */

/** Data codewords by version and level; a version with two kinds of blocks is not read. */
const BLOCKS: Record<string, { blocks: number; words: number }[]> = {
  L: [
    { blocks: 1, words: 19 },
    { blocks: 1, words: 34 },
    { blocks: 1, words: 55 },
    { blocks: 1, words: 80 },
    { blocks: 1, words: 108 },
    { blocks: 2, words: 68 },
    { blocks: 2, words: 78 },
    { blocks: 2, words: 97 },
    { blocks: 2, words: 116 },
  ],
};

const LEVELS = ['M', 'L', 'H', 'Q'];
const FORMAT_MASK = 0b101010000010010;

export function readQr(modules: readonly (readonly boolean[])[]): string {
  const size = modules.length;
  const version = (size - 17) / 4;
  const format = formatOf(modules);
  const layout = BLOCKS[LEVELS[format >> 3] as string]?.[version - 1];
  if (!layout) throw new Error(`version ${version} at level ${LEVELS[format >> 3]} is not read`);
  const words = wordsOf(modules, format & 0b111);
  // The blocks take turns, word by word.
  const data = Array.from({ length: layout.blocks }, (_, block) =>
    Array.from({ length: layout.words }, (_, at) => words[at * layout.blocks + block] as number),
  ).flat();
  const bits = data.map((word) => word.toString(2).padStart(8, '0')).join('');
  if (bits.slice(0, 4) !== '0100') throw new Error(`mode ${bits.slice(0, 4)} is not read`);
  const length = Number.parseInt(bits.slice(4, 12), 2);
  const octets = Array.from({ length }, (_, at) =>
    Number.parseInt(bits.slice(12 + at * 8, 20 + at * 8), 2),
  );
  return Buffer.from(octets).toString('utf8');
}

/** Level and mask, beside the upper left finder: five bits of fifteen, unmasked (7.9). */
function formatOf(modules: readonly (readonly boolean[])[]): number {
  let bits = 0;
  for (const x of [0, 1, 2, 3, 4, 5, 7, 8]) bits = bits * 2 + Number(modules[8]?.[x]);
  for (const y of [7, 5, 4, 3, 2, 1, 0]) bits = bits * 2 + Number(modules[y]?.[8]);
  return (bits ^ FORMAT_MASK) >> 10;
}

const MASKS: ((y: number, x: number) => boolean)[] = [
  (y, x) => (y + x) % 2 === 0,
  (y) => y % 2 === 0,
  (_, x) => x % 3 === 0,
  (y, x) => (y + x) % 3 === 0,
  (y, x) => (Math.floor(y / 2) + Math.floor(x / 3)) % 2 === 0,
  (y, x) => ((y * x) % 2) + ((y * x) % 3) === 0,
  (y, x) => (((y * x) % 2) + ((y * x) % 3)) % 2 === 0,
  (y, x) => (((y + x) % 2) + ((y * x) % 3)) % 2 === 0,
];

/** Two columns at a time from the right, up and down in turn, over whatever is no pattern (7.7.3). */
function wordsOf(modules: readonly (readonly boolean[])[], mask: number): number[] {
  const size = modules.length;
  const taken = patternsOf(size);
  const inverted = MASKS[mask] as (y: number, x: number) => boolean;
  const bits: number[] = [];
  let up = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = up ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!taken(y, x)) bits.push(Number(modules[y]?.[x]) ^ Number(inverted(y, x)));
      }
    }
    up = !up;
  }
  const words: number[] = [];
  for (let at = 0; at + 8 <= bits.length; at += 8) {
    words.push(Number.parseInt(bits.slice(at, at + 8).join(''), 2));
  }
  return words;
}

function patternsOf(size: number): (y: number, x: number) => boolean {
  const version = (size - 17) / 4;
  const centres = centresOf(version, size);
  const isFinder = (y: number, x: number) =>
    (y < 9 && x < 9) || (y < 9 && x >= size - 8) || (y >= size - 8 && x < 9);
  const isVersion = (y: number, x: number) =>
    version >= 7 && ((y < 6 && x >= size - 11) || (x < 6 && y >= size - 11));
  const isAlignment = (y: number, x: number) =>
    centres.some((cy) =>
      centres.some(
        (cx) =>
          // Where a finder stands there is no alignment pattern.
          !isFinder(cy, cx) && Math.abs(y - cy) <= 2 && Math.abs(x - cx) <= 2,
      ),
    );
  return (y, x) => y === 6 || x === 6 || isFinder(y, x) || isVersion(y, x) || isAlignment(y, x);
}

/** From the second row to the one before the last finder, evenly, with a third one from version 7. */
function centresOf(version: number, size: number): number[] {
  if (version === 1) return [];
  const last = size - 7;
  return version < 7 ? [6, last] : [6, (6 + last) / 2, last];
}
