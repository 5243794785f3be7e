/** Splits code into tokens for syntax colors, in linear time, because the code may be hostile mail. */

export type Language = 'json' | 'shell' | 'javascript' | 'python' | 'html';

export type TokenKind = 'key' | 'string' | 'number' | 'keyword' | 'comment';

export interface Token {
  text: string;
  kind?: TokenKind;
}

// A string without its closing quote is a token, too: a pattern that fails at each quote of a long
// line would read the rest of the line each time.
const DOUBLE_QUOTED = '"(?:[^"\\\\\\n]|\\\\.)*"?';
const SINGLE_QUOTED = "'(?:[^'\\\\\\n]|\\\\.)*'?";
const NUMBER = '\\b\\d[\\d.]*\\b';

/** Alternatives in the order in which they are tried. */
const PATTERNS: Record<Language, Partial<Record<TokenKind, string>>> = {
  json: { string: DOUBLE_QUOTED, number: `-?${NUMBER}`, keyword: '\\b(?:true|false|null)\\b' },
  shell: {
    comment: '(?<!\\S)#[^\\n]*',
    string: `'[^']*'?|${DOUBLE_QUOTED}`,
    key: '(?<=\\s)-{1,2}[A-Za-z][\\w-]*',
    keyword: '\\b(?:curl|npm|npx|export)\\b',
  },
  javascript: {
    comment: '//[^\\n]*',
    string: `${DOUBLE_QUOTED}|${SINGLE_QUOTED}|\`(?:[^\`\\\\]|\\\\.)*\`?`,
    keyword:
      '\\b(?:async|await|class|const|else|export|false|for|from|function|if|import|let|new|null|of|return|throw|true|undefined)\\b',
    key: '\\b[A-Za-z_]\\w*(?=:)',
    number: NUMBER,
  },
  python: {
    comment: '#[^\\n]*',
    string: `[bfr]?(?:${DOUBLE_QUOTED}|${SINGLE_QUOTED})`,
    keyword:
      '\\b(?:and|as|def|else|False|for|from|if|import|in|None|not|or|raise|return|True|with)\\b',
    number: NUMBER,
  },
  html: {
    comment: '<!--[\\s\\S]*?(?:-->|$)',
    keyword: '</?[A-Za-z][^\\s<>/]*|/?>',
    string: '(?<==)(?:"[^"\\n]*"|\'[^\'\\n]*\')',
  },
};

/** Longer code is shown without colors, because each token is an element of the page. */
const MAX_LENGTH = 40_000;

export function highlight(code: string, language: Language | undefined): Token[] {
  if (language === undefined || code.length > MAX_LENGTH) return [{ text: code }];
  const groups = Object.entries(PATTERNS[language]);
  const pattern = new RegExp(groups.map(([kind, one]) => `(?<${kind}>${one})`).join('|'), 'g');
  const tokens: Token[] = [];
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    if (match.index > end) tokens.push({ text: code.slice(end, match.index) });
    end = match.index + match[0].length;
    const [kind] = Object.entries(match.groups ?? {}).find(([, text]) => text !== undefined) ?? [];
    const isName =
      language === 'json' && kind === 'string' && /^\s*:/.test(code.slice(end, end + 9));
    tokens.push({ text: match[0], kind: isName ? 'key' : (kind as TokenKind) });
  }
  if (end < code.length) tokens.push({ text: code.slice(end) });
  return tokens;
}
