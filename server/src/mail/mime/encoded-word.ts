/**
 * RFC 2047 encoded words: how text beyond ASCII travels in a header. Comes in: any text.
 * Leaves: ASCII words of at most 75 characters, each whole in itself (no character is split
 * between two), joined by folds. Whatever the text was, the result has no bare CR or LF and no
 * character that means something to a header parser.
 */

/** An encoded word may be this long, and a line with one in it one more (RFC 2047 2). */
const WORD_CHARS_MAX = 75;
export const ENCODED_LINE_CHARS_MAX = 76;

/** The smallest room in which a word makes progress: the frame and one four-byte character. */
export const WORD_CHARS_MIN = 24;

const FRAME_CHARS = '=?utf-8?q??='.length;

/** Encodes `text`; the first word takes at most `firstWordCharsMax`, so that it fits its line. */
export function encodedWords(text: string, firstWordCharsMax: number): string {
  const bytes = Buffer.from(text, 'utf8');
  const encoding = isMostlyLiteral(bytes) ? 'q' : 'b';

  let words = '';
  let start = 0;
  let room = Math.max(WORD_CHARS_MIN, Math.min(firstWordCharsMax, WORD_CHARS_MAX)) - FRAME_CHARS;
  while (start < bytes.length) {
    const end = wordEnd(bytes, start, room, encoding);
    const content =
      encoding === 'q' ? quoted(bytes, start, end) : bytes.toString('base64', start, end);
    words += `${start === 0 ? '' : '\r\n '}=?utf-8?${encoding}?${content}?=`;
    start = end;
    room = WORD_CHARS_MAX - FRAME_CHARS;
  }
  return words;
}

// RFC 2047 4: the Q encoding, which a person can read in the raw message, is for text that is
// mostly ASCII; B is much shorter for all other.
function isMostlyLiteral(bytes: Buffer): boolean {
  let literals = 0;
  for (const byte of bytes) literals += LITERAL[byte]!;
  return literals * 2 >= bytes.length;
}

/** The most whole characters from `start` on that fit into `room` encoded characters. */
function wordEnd(bytes: Buffer, start: number, room: number, encoding: 'q' | 'b'): number {
  const bytesMax = Math.floor(room / 4) * 3;
  let end = start;
  let used = 0;
  let i = start;
  while (i < bytes.length) {
    used += LITERAL[bytes[i]!] === 0 ? 3 : 1;
    i += 1;
    const overfull = encoding === 'q' ? used > room : i - start > bytesMax;
    if (overfull) return end;
    const characterEnds = i === bytes.length || (bytes[i]! & 0xc0) !== 0x80;
    if (characterEnds) end = i;
  }
  return end;
}

// What RFC 2047 5 (3) allows inside a phrase, the strictest place. A space becomes "_".
const LITERAL = new Uint8Array(256);
for (const char of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!*+-/ ') {
  LITERAL[char.charCodeAt(0)] = 1;
}

function quoted(bytes: Buffer, start: number, end: number): string {
  let content = '';
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!;
    if (byte === 0x20) content += '_';
    else if (LITERAL[byte] === 1) content += String.fromCharCode(byte);
    else content += `=${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`;
  }
  return content;
}
