/**
 * A position within a style sheet or style attribute: between tokens, in a string, in a URL or in a
 * comment.
 */
export type CssMode = 'plain' | 'comment' | '"' | "'" | 'url' | 'url"' | "url'";

/** The mode after `text`, in a single forward pass. */
export function advanceCss(mode: CssMode, text: string): CssMode {
  let i = 0;
  while (i < text.length) {
    const character = text[i];
    if (character === '\\' && mode !== 'comment') {
      i += 2;
      continue;
    }
    switch (mode) {
      case 'plain':
        if (character === '"' || character === "'") mode = character;
        else if (character === '/' && text[i + 1] === '*') {
          mode = 'comment';
          i += 1;
        } else if (character === '(' && /url$/i.test(text.slice(Math.max(0, i - 3), i))) {
          const quote = /\s*(["']?)/y;
          quote.lastIndex = i + 1;
          const found = quote.exec(text);
          mode = `url${(found?.[1] ?? '') as '' | '"' | "'"}`;
          i += found?.[0].length ?? 0;
        }
        break;
      case 'comment':
        if (character === '*' && text[i + 1] === '/') {
          mode = 'plain';
          i += 1;
        }
        break;
      case 'url':
        if (character === ')') mode = 'plain';
        break;
      case 'url"':
      case "url'":
        if (character === mode[3]) mode = 'plain';
        break;
      default:
        if (character === mode || character === '\n') mode = 'plain';
    }
    i += 1;
  }
  return mode;
}
