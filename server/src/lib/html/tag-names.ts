import { RAW_TEXT_ELEMENTS, VOID_ELEMENTS } from './elements.ts';

/**
 * Numbers the elements that email uses or that a reader of HTML treats specially, so that everything
 * known about a tag is one lookup in an array. All other elements have the number 0.
 */
export const OTHER_ELEMENT = 0;

const NAMES = [
  '',
  ...new Set([
    ...`a abbr address article aside b big blockquote body button caption center code dd del dfn div dl dt
    em fieldset figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i ins label li main
    map nav ol option p picture plaintext pre q s section select small span strike strong sub sup table tbody
    td template tfoot th thead tr tt u ul video`.split(/\s+/),
    ...RAW_TEXT_ELEMENTS,
    ...VOID_ELEMENTS,
  ]),
];

export const ELEMENT_COUNT = NAMES.length;

const NUMBERS = new Map(NAMES.map((name, number) => [name, number]));

export function elementNumber(lowercaseName: string): number {
  return NUMBERS.get(lowercaseName) ?? OTHER_ELEMENT;
}

/** Empty for 0. */
export function elementName(number: number): string {
  return NAMES[number]!;
}

/**
 * Short names, which most tags have, are packed into an integer with six bits for each character, from 1
 * for `a` or `A` to 36 for `9`; 0 is for characters that no numbered name contains.
 */
export const NAME_CHARACTERS = new Uint8Array(0x80);
export const NAME_CHARACTER_BITS = 6;
export const PACKED_NAME_CHARS_MAX = 5;
for (let letter = 0; letter < 26; letter++) {
  NAME_CHARACTERS[0x61 + letter] = letter + 1;
  NAME_CHARACTERS[0x41 + letter] = letter + 1;
}
for (let digit = 0; digit < 10; digit++) NAME_CHARACTERS[0x30 + digit] = digit + 27;

/** The number of the element whose packed name this is. */
export function elementOfPackedName(packed: number): number {
  let slot = slotOf(packed);
  while (SLOT_NAMES[slot] !== packed) {
    if (SLOT_NAMES[slot] === 0) return OTHER_ELEMENT;
    slot = (slot + 1) & SLOT_MASK;
  }
  return SLOT_NUMBERS[slot]!;
}

// A hash table with open addressing: a lookup neither allocates nor compares strings.
const SLOT_MASK = 511;
const SLOT_NAMES = new Int32Array(SLOT_MASK + 1);
const SLOT_NUMBERS = new Uint8Array(SLOT_MASK + 1);
for (const [number, name] of NAMES.entries()) {
  if (name === '' || name.length > PACKED_NAME_CHARS_MAX) continue;
  let packed = 0;
  for (let i = 0; i < name.length; i++) {
    packed = (packed << NAME_CHARACTER_BITS) | NAME_CHARACTERS[name.charCodeAt(i)]!;
  }
  let slot = slotOf(packed);
  while (SLOT_NAMES[slot] !== 0) slot = (slot + 1) & SLOT_MASK;
  SLOT_NAMES[slot] = packed;
  SLOT_NUMBERS[slot] = number;
}

function slotOf(packed: number): number {
  return (packed ^ (packed >> 8)) & SLOT_MASK;
}
