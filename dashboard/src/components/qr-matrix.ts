/**
 * QR codes (ISO/IEC 18004) for short texts: byte mode, error correction level L, versions 1 to 9.
 * In comes a text of at most 230 octets, out goes a square of dark and light modules.
 */

/** By version: data codewords of a block, error correction codewords of a block, blocks. */
const BLOCKS: [number, number, number][] = [
  [19, 7, 1],
  [34, 10, 1],
  [55, 15, 1],
  [80, 20, 1],
  [108, 26, 1],
  [68, 18, 2],
  [78, 20, 2],
  [97, 24, 2],
  [116, 30, 2],
];

/** Centres of alignment patterns by version; they stand at every pair of these. */
const ALIGNMENT = [
  [],
  [6, 18],
  [6, 22],
  [6, 26],
  [6, 30],
  [6, 34],
  [6, 22, 38],
  [6, 24, 42],
  [6, 26, 46],
];

type Matrix = boolean[][];

export function qrMatrix(text: string): Matrix {
  const bytes = new TextEncoder().encode(text);
  // Four bits of mode and eight of length go before the octets.
  const version = BLOCKS.findIndex(([data, , blocks]) => data * blocks >= bytes.length + 2) + 1;
  if (version === 0) throw new RangeError('the text is too long for a QR code');
  const bits = interleavedBits(bytes, version);
  let best: { matrix: Matrix; penalty: number } | undefined;
  for (let mask = 0; mask < MASKS.length; mask += 1) {
    const matrix = draw(version, bits, mask);
    const penalty = penaltyOf(matrix);
    if (!best || penalty < best.penalty) best = { matrix, penalty };
  }
  return (best as { matrix: Matrix }).matrix;
}

function interleavedBits(bytes: Uint8Array, version: number): number[] {
  const [dataCount, checkCount, blockCount] = BLOCKS[version - 1] as [number, number, number];
  const data = codewords(bytes, dataCount * blockCount);
  const blocks = Array.from({ length: blockCount }, (_, index) =>
    data.slice(index * dataCount, (index + 1) * dataCount),
  );
  const checks = blocks.map((block) => remainder(block, checkCount));
  const all = [...columns(blocks, dataCount), ...columns(checks, checkCount)];
  return all.flatMap((octet) => bitsOf(octet, 8));
}

/** Mode, length, octets, terminator, then the two padding octets in turn (7.4.9, 7.4.10). */
function codewords(bytes: Uint8Array, total: number): number[] {
  const bits = [...bitsOf(0b0100, 4), ...bitsOf(bytes.length, 8)];
  for (const octet of bytes) bits.push(...bitsOf(octet, 8));
  bits.push(...bitsOf(0, 4));
  const words: number[] = [];
  for (let at = 0; at + 8 <= bits.length; at += 8) {
    words.push(bits.slice(at, at + 8).reduce((sum, bit) => sum * 2 + bit, 0));
  }
  for (let pad = 0; words.length < total; pad += 1) words.push(pad % 2 === 0 ? 0xec : 0x11);
  return words;
}

function columns(blocks: number[][], length: number): number[] {
  return Array.from({ length }, (_, at) => blocks.map((block) => block[at] as number)).flat();
}

function bitsOf(value: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => (value >> (count - 1 - index)) & 1);
}

/** Arithmetic in GF(256) with the polynomial 0x11d. */
const EXP: number[] = [];
const LOG: number[] = [];
for (let power = 0, value = 1; power < 255; power += 1) {
  EXP[power] = value;
  LOG[value] = power;
  value = (value << 1) ^ (value >= 128 ? 0x11d : 0);
}

function times(a: number, b: number): number {
  if (a === 0 || b === 0) return 0;
  return EXP[((LOG[a] as number) + (LOG[b] as number)) % 255] as number;
}

/** Reed-Solomon: what is left of the data after division by the generator. */
function remainder(data: readonly number[], degree: number): number[] {
  let generator = [1];
  for (let power = 0; power < degree; power += 1) {
    const next = [...generator, 0];
    generator.forEach((factor, at) => {
      next[at + 1] = (next[at + 1] as number) ^ times(factor, EXP[power] as number);
    });
    generator = next;
  }
  const rest = new Array<number>(degree).fill(0);
  for (const word of data) {
    const lead = word ^ (rest.shift() as number);
    rest.push(0);
    for (let at = 0; at < degree; at += 1) {
      rest[at] = (rest[at] as number) ^ times(generator[at + 1] as number, lead);
    }
  }
  return rest;
}

const MASKS: ((x: number, y: number) => boolean)[] = [
  (x, y) => (x + y) % 2 === 0,
  (_, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
];

function draw(version: number, bits: readonly number[], mask: number): Matrix {
  const size = 17 + 4 * version;
  const matrix: Matrix = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const fixed: Matrix = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  const set = (x: number, y: number, dark: boolean): void => {
    const row = matrix[y];
    if (!row || x < 0 || x >= size) return;
    row[x] = dark;
    (fixed[y] as boolean[])[x] = true;
  };
  drawPatterns(version, size, set);
  drawFormat(size, mask, set);
  if (version >= 7) drawVersion(version, size, set);
  drawData(matrix, fixed, bits, MASKS[mask] as (x: number, y: number) => boolean);
  return matrix;
}

type SetModule = (x: number, y: number, dark: boolean) => void;

function drawPatterns(version: number, size: number, set: SetModule): void {
  for (let at = 8; at < size - 8; at += 1) {
    set(at, 6, at % 2 === 0);
    set(6, at, at % 2 === 0);
  }
  for (const [left, top] of [
    [0, 0],
    [size - 7, 0],
    [0, size - 7],
  ] as const) {
    for (let dy = -1; dy <= 7; dy += 1) {
      for (let dx = -1; dx <= 7; dx += 1) {
        const ring = Math.max(Math.abs(dx - 3), Math.abs(dy - 3));
        set(left + dx, top + dy, ring !== 2 && ring !== 4);
      }
    }
  }
  const centres = ALIGNMENT[version - 1] as number[];
  const last = centres.at(-1);
  for (const y of centres) {
    for (const x of centres) {
      // Three corners belong to the finders.
      if ((x === 6 && y === 6) || (x === 6 && y === last) || (x === last && y === 6)) continue;
      for (let dy = -2; dy <= 2; dy += 1) {
        for (let dx = -2; dx <= 2; dx += 1) {
          set(x + dx, y + dy, Math.max(Math.abs(dx), Math.abs(dy)) !== 1);
        }
      }
    }
  }
}

/** Level L and the mask, protected by a BCH code, twice (7.9). */
function drawFormat(size: number, mask: number, set: SetModule): void {
  const data = (0b01 << 3) | mask;
  const code = ((data << 10) | bch(data << 10, 0x537, 11)) ^ 0x5412;
  for (let bit = 0; bit < 15; bit += 1) {
    const dark = ((code >> bit) & 1) === 1;
    if (bit < 6) set(8, bit, dark);
    else if (bit < 8) set(8, bit + 1, dark);
    else if (bit === 8) set(7, 8, dark);
    else set(14 - bit, 8, dark);
    if (bit < 8) set(size - 1 - bit, 8, dark);
    else set(8, size - 15 + bit, dark);
  }
  set(8, size - 8, true);
}

/** The version, protected by a BCH code, twice (7.10). */
function drawVersion(version: number, size: number, set: SetModule): void {
  const code = (version << 12) | bch(version << 12, 0x1f25, 13);
  for (let bit = 0; bit < 18; bit += 1) {
    const dark = ((code >> bit) & 1) === 1;
    const [near, far] = [Math.floor(bit / 3), size - 11 + (bit % 3)];
    set(far, near, dark);
    set(near, far, dark);
  }
}

function bch(value: number, generator: number, length: number): number {
  let rest = value;
  for (let shift = 32 - Math.clz32(rest) - length; shift >= 0; ) {
    rest ^= generator << shift;
    shift = 32 - Math.clz32(rest) - length;
  }
  return rest;
}

/** In columns of two, from the right, up and down in turn, around the timing column (7.7.3). */
function drawData(
  matrix: Matrix,
  fixed: Matrix,
  bits: readonly number[],
  mask: (x: number, y: number) => boolean,
): void {
  const size = matrix.length;
  let next = 0;
  let upward = true;
  for (let right = size - 1; right > 0; right -= 2) {
    if (right === 6) right = 5;
    for (let step = 0; step < size; step += 1) {
      const y = upward ? size - 1 - step : step;
      for (const x of [right, right - 1]) {
        if (fixed[y]?.[x]) continue;
        const dark = bits[next] === 1;
        next += 1;
        (matrix[y] as boolean[])[x] = dark !== mask(x, y);
      }
    }
    upward = !upward;
  }
}

/** Long runs, blocks and a lack of balance make a code hard to read (7.8.3, rules 1, 2 and 4). */
function penaltyOf(matrix: Matrix): number {
  const size = matrix.length;
  const at = (x: number, y: number): boolean => (matrix[y] as boolean[])[x] as boolean;
  let penalty = 0;
  let dark = 0;
  for (let a = 0; a < size; a += 1) {
    let across = 1;
    let down = 1;
    for (let b = 0; b < size; b += 1) {
      if (at(b, a)) dark += 1;
      if (b === 0) continue;
      across = at(b, a) === at(b - 1, a) ? across + 1 : 1;
      down = at(a, b) === at(a, b - 1) ? down + 1 : 1;
      for (const run of [across, down]) penalty += run === 5 ? 3 : run > 5 ? 1 : 0;
      if (a === 0) continue;
      const same = [at(b - 1, a), at(b, a - 1), at(b - 1, a - 1)];
      if (same.every((one) => one === at(b, a))) penalty += 3;
    }
  }
  return penalty + Math.floor(Math.abs((dark / size ** 2) * 100 - 50) / 5) * 10;
}
