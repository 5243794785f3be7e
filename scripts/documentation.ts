import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from './project-files.ts';

/** Reads README.md, the guides and the README of the client, and the commands in them. */

export interface DocumentFile {
  file: string;
  text: string;
}

export interface CodeBlock {
  file: string;
  /** Line number of the fence. */
  line: number;
  language: string;
  code: string;
}

/** The address of the server in all examples. */
export const EXAMPLE_URL = 'http://localhost:3000';

export function documentFiles(root: string = ROOT): DocumentFile[] {
  const guides = readdirSync(path.join(root, 'docs')).filter((name) => name.endsWith('.md'));
  return ['README.md', ...guides.sort().map((name) => `docs/${name}`), 'sdk/README.md'].map(
    (file) => ({ file, text: readFileSync(path.join(root, file), 'utf8') }),
  );
}

/** The fenced code of a file, without the indentation of a list. */
export function codeBlocks({ file, text }: DocumentFile): CodeBlock[] {
  return [...text.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```$/gm)].map((match) => {
    const [, indent = '', language = '', code = ''] = match;
    return {
      file,
      line: text.slice(0, match.index).split('\n').length,
      language,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    };
  });
}

/** The JSON that directly follows a command: what it returns. */
export function responseAfter(blocks: readonly CodeBlock[], at: number): CodeBlock | undefined {
  const [command, next] = blocks.slice(at, at + 2);
  if (!command || next?.language !== 'json') return undefined;
  // Two fences and an empty line.
  const distance = command.code.split('\n').length + 2;
  return next.line === command.line + distance ? next : undefined;
}

/** All code of a file: blocks and what is quoted in a sentence. */
export function codeOf({ text }: DocumentFile): string[] {
  const blocks = [...text.matchAll(/^ *```\w*\n([\s\S]*?)^ *```$/gm)].map(
    (match) => match[1] ?? '',
  );
  const prose = text.replaceAll(/^ *```\w*\n[\s\S]*?^ *```$/gm, '');
  return [...blocks, ...[...prose.matchAll(/`([^`\n]+)`/g)].map((match) => match[1] ?? '')];
}

/** A curl command that calls the server of the examples. */
export interface DocumentedRequest {
  method: string;
  /** Below /api/v1, without the query. */
  path: string;
  headers: Record<string, string>;
  /** The text after `-d`. */
  body: string | undefined;
  /** The command as written. */
  command: string;
}

export function requestsIn(code: string): DocumentedRequest[] {
  return commandsIn(code)
    .filter((command) => command.startsWith('curl ') && command.includes(`${EXAMPLE_URL}/api/v1/`))
    .map((command) => {
      const words = shellWords(command);
      const after = (flag: string): string[] =>
        words.flatMap((word, at) => (word === flag ? [words[at + 1] ?? ''] : []));
      const [url = ''] = words.filter((word) => word.startsWith(EXAMPLE_URL));
      const body = after('-d')[0];
      const sends = body !== undefined || words.includes('--data-binary');
      return {
        method: after('-X')[0] ?? (sends ? 'POST' : 'GET'),
        path: new URL(url).pathname.replace(/^\/api\/v1/, ''),
        headers: Object.fromEntries(
          after('-H').map((header) => {
            const [name = '', ...value] = header.split(':');
            return [name.toLowerCase(), value.join(':').trim()];
          }),
        ),
        body,
        command,
      };
    });
}

/** The commands of a shell block: lines that end with a backslash or an open quote continue. */
export function commandsIn(code: string): string[] {
  const commands: string[] = [];
  let current = '';
  for (const line of code.split('\n')) {
    current += current === '' ? line : `\n${line}`;
    if (line.endsWith('\\') || hasOpenQuote(current)) continue;
    if (current.trim() !== '' && !current.trimStart().startsWith('#'))
      commands.push(current.trim());
    current = '';
  }
  return commands;
}

function hasOpenQuote(text: string): boolean {
  const withoutQuoted = text.replaceAll(
    /\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*"|(?<=\s)#.*$/gm,
    '',
  );
  return /['"]/.test(withoutQuoted);
}

/** Splits a command as a shell does, without replacing variables. */
function shellWords(command: string): string[] {
  const words = command
    .replaceAll('\\\n', ' ')
    .matchAll(/(?:'[^']*'|"(?:[^"\\]|\\[\s\S])*"|\\[\s\S]|[^\s'"\\])+/g);
  return [...words].map(([word]) =>
    word.replaceAll(
      /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g,
      (_, single, double, escaped) => {
        return single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped;
      },
    ),
  );
}
