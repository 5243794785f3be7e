/**
 * RFC 2047 encoded words: non-ASCII text in headers. Takes any text; returns ASCII words of at most
 * 75 characters, joined by folds, with no character split between two words. The result never
 * contains a bare CR or LF, nor a character that is special to a header parser.
 */

/**
 * Maximum length of an encoded word; a line that contains one may be one character longer (RFC 2047
 * section 2).
 */
const WORD_CHARS_MAX = 75;
export const ENCODED_LINE_CHARS_MAX = 76;

/**
 * The smallest length in which a word makes progress: the delimiters and one four-byte character.
 */
export const WORD_CHARS_MIN = 24;

const FRAME_CHARS = '=?utf-8?q??='.length;

/**
 * Encodes `text`; the first word has at most `firstWordCharsMax` characters, to fit on its line.
 */
export function encodedWords(text: string, firstWordCharsMax: number): string {
  const bytes = Buffer.from(text, 'utf8');
  const encoding = isMostlyLiteral(bytes) ? 'q' : 'b';

  let words = '';
  let start = 0;
  let charsLeft =
    Math.max(WORD_CHARS_MIN, Math.min(firstWordCharsMax, WORD_CHARS_MAX)) - FRAME_CHARS;
  while (start < bytes.length) {
    const base64End = encoding === 'b' ? base64WordEnd(bytes, start, charsLeft) : start;
    const end = base64End > start ? base64End : quotedWordEnd(bytes, start, charsLeft, encoding);
    const word =
      base64End > start
        ? `b?${bytes.toString('base64', start, end)}`
        : `q?${quoted(bytes, start, end)}`;
    words += `${start === 0 ? '' : '\r\n '}=?utf-8?${word}?=`;
    start = end;
    charsLeft = WORD_CHARS_MAX - FRAME_CHARS;
  }
  return words;
}

// RFC 2047 section 4: the Q encoding is readable in the raw message and suits text that is mostly
// ASCII; the B encoding is much shorter for other text.
function isMostlyLiteral(bytes: Buffer): boolean {
  let literals = 0;
  for (const byte of bytes) literals += LITERAL[byte]!;
  return literals * 2 >= bytes.length;
}

/**
 * The end of the longest run of whole characters that fits into a base64 word without padding; the
 * last word may have padding. GMime (notmuch, Geary) joins adjacent words before decoding them and
 * stops at padding in between. Returns `start` when no character ends at a multiple of three octets.
 */
function base64WordEnd(bytes: Buffer, start: number, charsLeft: number): number {
  const bytesMax = Math.floor(charsLeft / 4) * 3;
  if (bytes.length - start <= bytesMax) return bytes.length;
  let end = start + bytesMax;
  while (end > start && !isCharacterStart(bytes, end)) end -= 3;
  return end;
}

/**
 * The end of the longest run of whole characters that fits into a quoted word; in base64 text, of
 * the shortest run after which a base64 word without padding can follow.
 */
function quotedWordEnd(
  bytes: Buffer,
  start: number,
  charsLeft: number,
  encoding: 'q' | 'b',
): number {
  let end = start;
  let used = 0;
  for (let i = start; i < bytes.length; ) {
    used += LITERAL[bytes[i]!] === 0 ? 3 : 1;
    i += 1;
    if (used > charsLeft) return end;
    if (!isCharacterStart(bytes, i)) continue;
    end = i;
    if (encoding === 'b' && base64WordEnd(bytes, end, WORD_CHARS_MAX - FRAME_CHARS) > end) break;
  }
  return end;
}

function isCharacterStart(bytes: Buffer, at: number): boolean {
  return at === bytes.length || (bytes[at]! & 0xc0) !== 0x80;
}

// The characters allowed in a phrase, the strictest context (RFC 2047 section 5 (3)). A space
// becomes "_".
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
