/** Character classes and searches of the HTML tokenization rules (WHATWG HTML 13.2.5). */

/** Whitespace in HTML: tab, line feed, form feed, carriage return and space, but not U+00A0. */
export function isWhitespace(code: number): boolean {
  if (code > 0x20) return false;
  return code === 0x20 || code === 0x0a || code === 0x09 || code === 0x0d || code === 0x0c;
}

export function isAsciiLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a);
}

/** The end of a comment starts here: `-->` or `--!>`. */
export const COMMENT_END = /--!?>/g;

/**
 * Where the end tag of a raw text element starts; -1 when it is missing. The name must be followed by
 * whitespace, `/` or `>`: `</styles>` does not end a style sheet.
 */
export function findRawTextEnd(html: string, name: string, from: number): number {
  for (let at = html.indexOf('</', from); at !== -1; at = html.indexOf('</', at + 2)) {
    const nameEnd = at + 2 + name.length;
    const next = html.charCodeAt(nameEnd);
    const ends = isWhitespace(next) || next === 0x2f || next === 0x3e;
    if (ends && html.slice(at + 2, nameEnd).toLowerCase() === name) return at;
  }
  return -1;
}
