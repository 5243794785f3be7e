import { escapeHtml } from '../../lib/html/escape-html.ts';
import { Html } from './html.ts';

/** Syntax highlighting: each token becomes a span with a class of the style sheet. */

export type Language = 'json' | 'shell' | 'code' | 'python' | 'hashed' | 'text';

interface Rule {
  kind: 'key' | 'string' | 'number' | 'word' | 'comment' | 'flag';
  pattern: RegExp;
}

const STRING = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/y;
const TEXT_BLOCK = /"""[\s\S]*?"""/y;
const NUMBER = /-?\b\d+(?:\.\d+)?\b/y;
const HASH_COMMENT = /(?<=^|\s)#[^\n]*/my;

const RULES: Record<Language, readonly Rule[]> = {
  json: [
    { kind: 'key', pattern: /"(?:[^"\\\n]|\\.)*"(?=\s*:)/y },
    { kind: 'string', pattern: STRING },
    { kind: 'number', pattern: NUMBER },
    { kind: 'word', pattern: /\b(?:true|false|null)\b/y },
  ],
  shell: [
    { kind: 'comment', pattern: HASH_COMMENT },
    { kind: 'word', pattern: /\b(?:curl|npm|npx)\b/y },
    { kind: 'flag', pattern: /(?<=\s)-{1,2}[A-Za-z][\w-]*/y },
    // Single quotes in a shell can contain anything, including line breaks.
    { kind: 'string', pattern: /'(?:[^']|'\\'')*'|"(?:[^"\\]|\\.)*"/y },
  ],
  // Languages with the syntax of C, in which // begins a comment.
  code: [
    { kind: 'comment', pattern: /\/\/[^\n]*/y },
    { kind: 'string', pattern: TEXT_BLOCK },
    { kind: 'string', pattern: STRING },
    { kind: 'key', pattern: /\b[A-Za-z_]\w*(?=:(?!:))/y },
    {
      kind: 'word',
      pattern:
        /\b(?:async|await|class|const|export|false|from|func|function|if|import|new|nil|null|package|public|return|static|throws|true|using|var|void)\b/y,
    },
    { kind: 'number', pattern: NUMBER },
  ],
  python: [
    { kind: 'comment', pattern: HASH_COMMENT },
    { kind: 'string', pattern: TEXT_BLOCK },
    { kind: 'string', pattern: /f?"(?:[^"\\\n]|\\.)*"/y },
    {
      kind: 'word',
      pattern: /\b(?:import|from|True|False|None|with|as|def|if|for|in|not|or|raise|return)\b/y,
    },
    { kind: 'key', pattern: /\b[a-z_]\w*(?==(?!=))/y },
    { kind: 'number', pattern: NUMBER },
  ],
  // Ruby and configuration files.
  hashed: [
    { kind: 'comment', pattern: HASH_COMMENT },
    { kind: 'string', pattern: STRING },
    { kind: 'key', pattern: /\b[A-Za-z_]\w*(?=:(?!:))/y },
    { kind: 'word', pattern: /\b(?:require|do|end|true|false|nil|puts)\b/y },
    { kind: 'number', pattern: NUMBER },
  ],
  text: [],
};

const FENCES: Record<string, { title: string; language: Language }> = {
  sh: { title: 'Shell', language: 'shell' },
  json: { title: 'JSON', language: 'json' },
  js: { title: 'JavaScript', language: 'code' },
  ts: { title: 'TypeScript', language: 'code' },
  tsx: { title: 'TypeScript', language: 'code' },
  python: { title: 'Python', language: 'python' },
  ruby: { title: 'Ruby', language: 'hashed' },
  php: { title: 'PHP', language: 'code' },
  go: { title: 'Go', language: 'code' },
  csharp: { title: 'C#', language: 'code' },
  properties: { title: 'Properties', language: 'text' },
  ini: { title: 'Unit file', language: 'text' },
  nginx: { title: 'nginx', language: 'text' },
  caddyfile: { title: 'Caddyfile', language: 'text' },
  csv: { title: 'CSV', language: 'text' },
  xml: { title: 'XML', language: 'text' },
  yaml: { title: 'YAML', language: 'hashed' },
};

/** The language of a fenced code block. */
export function languageOf(fence: string): { title: string; language: Language } {
  return FENCES[fence] ?? { title: 'Text', language: 'text' };
}

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
