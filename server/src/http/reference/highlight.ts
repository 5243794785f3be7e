import { escapeHtml } from '../../lib/html/escape-html.ts';
import { Html } from './html.ts';

/** Syntax highlighting: each token becomes a span with a class of the style sheet. */

export type Language = 'json' | 'shell' | 'javascript' | 'python';

interface Rule {
  kind: 'key' | 'string' | 'number' | 'word' | 'comment' | 'flag';
  pattern: RegExp;
}

const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/y;
const NUMBER = /-?\b\d+(?:\.\d+)?\b/y;

const RULES: Record<Language, readonly Rule[]> = {
  json: [
    { kind: 'key', pattern: /"(?:[^"\\\n]|\\.)*"(?=\s*:)/y },
    { kind: 'string', pattern: STRING },
    { kind: 'number', pattern: NUMBER },
    { kind: 'word', pattern: /\b(?:true|false|null)\b/y },
  ],
  shell: [
    { kind: 'comment', pattern: /#[^\n]*/y },
    { kind: 'word', pattern: /\b(?:curl|npm|npx)\b/y },
    { kind: 'flag', pattern: /(?<=\s)-{1,2}[A-Za-z][\w-]*/y },
    // Single quotes in a shell can contain anything, including line breaks.
    { kind: 'string', pattern: /'(?:[^']|'\\'')*'|"(?:[^"\\]|\\.)*"/y },
  ],
  javascript: [
    { kind: 'comment', pattern: /\/\/[^\n]*/y },
    { kind: 'string', pattern: STRING },
    { kind: 'key', pattern: /\b[A-Za-z_]\w*(?=:)/y },
    { kind: 'word', pattern: /\b(?:const|await|import|from|new|return|true|false|null)\b/y },
    { kind: 'number', pattern: NUMBER },
  ],
  python: [
    { kind: 'comment', pattern: /#[^\n]*/y },
    { kind: 'string', pattern: /f?"(?:[^"\\\n]|\\.)*"/y },
    { kind: 'word', pattern: /\b(?:import|from|True|False|None|with|as)\b/y },
    { kind: 'key', pattern: /\b[a-z_]\w*(?==)/y },
    { kind: 'number', pattern: NUMBER },
  ],
};

export function highlight(language: Language, code: string): Html {
  let out = '';
  let plain = '';
  let at = 0;
  while (at < code.length) {
    const token = tokenAt(RULES[language], code, at);
    if (!token) {
      plain += code[at];
      at += 1;
      continue;
    }
    out += `${escapeHtml(plain)}<span class="t-${token.kind}">${escapeHtml(token.text)}</span>`;
    plain = '';
    at += token.text.length;
  }
  return new Html(out + escapeHtml(plain));
}

function tokenAt(rules: readonly Rule[], code: string, at: number) {
  for (const { kind, pattern } of rules) {
    pattern.lastIndex = at;
    const text = pattern.exec(code)?.[0];
    if (text) return { kind, text };
  }
  return undefined;
}
