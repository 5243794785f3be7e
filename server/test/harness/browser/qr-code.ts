/**
 * Decodes a QR code (ISO/IEC 18004) from its modules: byte mode, level L, versions 1 to 9. It is
 * independent of the encoder it checks. It does no error correction, because the input is exact.
 */

/** Data codewords by level and version. Versions with two block sizes are not supported. */
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
  if (!layout)
    throw new Error(`version ${version} at level ${LEVELS[format >> 3]} is not supported`);
  const words = wordsOf(modules, format & 0b111);
  // The blocks are interleaved word by word.
  const data = Array.from({ length: layout.blocks }, (_, block) =>
    Array.from({ length: layout.words }, (_, at) => words[at * layout.blocks + block] as number),
  ).flat();
  const bits = data.map((word) => word.toString(2).padStart(8, '0')).join('');
  if (bits.slice(0, 4) !== '0100') throw new Error(`mode ${bits.slice(0, 4)} is not supported`);
  const length = Number.parseInt(bits.slice(4, 12), 2);
  const octets = Array.from({ length }, (_, at) =>
    Number.parseInt(bits.slice(12 + at * 8, 20 + at * 8), 2),
  );
  return Buffer.from(octets).toString('utf8');
}

/** Level and mask, next to the upper left finder pattern: five bits of fifteen, unmasked (7.9). */
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

/** Reads two columns at a time from the right, alternating up and down, skipping patterns (7.7.3). */
function wordsOf(modules: readonly (readonly boolean[])[], mask: number): number[] {
  const size = modules.length;
  const isPattern = patternsOf(size);
  const inverted = MASKS[mask] as (y: number, x: number) => boolean;
  const bits: number[] = [];
  let up = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = up ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (!isPattern(y, x)) bits.push(Number(modules[y]?.[x]) ^ Number(inverted(y, x)));
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
  const centers = alignmentCenters(version, size);
  const isFinder = (y: number, x: number) =>
    (y < 9 && x < 9) || (y < 9 && x >= size - 8) || (y >= size - 8 && x < 9);
  const isVersion = (y: number, x: number) =>
    version >= 7 && ((y < 6 && x >= size - 11) || (x < 6 && y >= size - 11));
  const isAlignment = (y: number, x: number) =>
    centers.some((cy) =>
      centers.some(
        (cx) =>
          // Finder patterns replace alignment patterns.
          !isFinder(cy, cx) && Math.abs(y - cy) <= 2 && Math.abs(x - cx) <= 2,
      ),
    );
  return (y, x) => y === 6 || x === 6 || isFinder(y, x) || isVersion(y, x) || isAlignment(y, x);
}

/** The coordinates of alignment patterns: two, evenly spaced, and a third from version 7. */
function alignmentCenters(version: number, size: number): number[] {
  if (version === 1) return [];
  const last = size - 7;
  return version < 7 ? [6, last] : [6, (6 + last) / 2, last];
}
