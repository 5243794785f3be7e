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
    const end = wordEnd(bytes, start, charsLeft, encoding);
    const content =
      encoding === 'q' ? quoted(bytes, start, end) : bytes.toString('base64', start, end);
    words += `${start === 0 ? '' : '\r\n '}=?utf-8?${encoding}?${content}?=`;
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

/** The end of the longest run of whole characters that fits into `charsLeft` encoded characters. */
function wordEnd(bytes: Buffer, start: number, charsLeft: number, encoding: 'q' | 'b'): number {
  const bytesMax = Math.floor(charsLeft / 4) * 3;
  let end = start;
  let used = 0;
  let i = start;
  while (i < bytes.length) {
    used += LITERAL[bytes[i]!] === 0 ? 3 : 1;
    i += 1;
    const overfull = encoding === 'q' ? used > charsLeft : i - start > bytesMax;
    if (overfull) return end;
    const characterEnds = i === bytes.length || (bytes[i]! & 0xc0) !== 0x80;
    if (characterEnds) end = i;
  }
  return end;
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
