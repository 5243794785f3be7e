/** Bounded searches for the HTML state machine. None searches far past its limit, so all stay linear. */

export function find(text: string, character: string, from: number, limit: number): number {
  const index = text.indexOf(character, from);
  return index >= limit ? -1 : index;
}

/** The next whitespace character or one of `ends`. */
export function findEnd(text: string, ends: string, from: number, limit: number): number {
  for (let i = from; i < limit; i++) {
    const code = text.charCodeAt(i);
    if (code <= 32 ? isSpaceCode(code) : code <= 62 && ends.includes(text[i] as string)) return i;
  }
  return limit;
}

function isSpaceCode(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13 || code === 12;
}

export function isSpace(character: string): boolean {
  return isSpaceCode(character.charCodeAt(0));
}

export function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

const END_TAGS = new Map<string, RegExp>();

export function endTagOf(tag: string): RegExp {
  let pattern = END_TAGS.get(tag);
  if (!pattern) {
    pattern = new RegExp(`</${tag}(?=[\\t\\n\\f\\r />])`, 'i');
    END_TAGS.set(tag, pattern);
  }
  return pattern;
}

/** Whether the position after `text` is inside a JSON string. */
export function advanceJson(inString: boolean, text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '"') inString = !inString;
    else if (text[i] === '\\' && inString) i += 1;
  }
  return inString;
}
