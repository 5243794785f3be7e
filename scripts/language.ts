import { readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import {
  ALLOWED,
  type LanguageRule,
  PROSE_RULES,
  RETIRED_NAMES,
  RETIRED_PARTS,
  TITLE_RULES,
} from './language-rules.ts';
import { projectFiles, ROOT } from './project-files.ts';

/**
 * Rejects words and phrases that are not plain, idiomatic American English, in documentation,
 * comments, strings, test titles, identifiers and file names. Returns one line per finding, with the
 * suggested replacement. Code is parsed, so that prose rules never apply to identifiers.
 */
export function languageErrors(root: string = ROOT): string[] {
  return projectFiles(root)
    .filter((file) => !EXCLUDED.test(file))
    .flatMap((file) => {
      const text = CHECKED.test(file) ? readFileSync(path.join(root, file), 'utf8') : '';
      const passages = mayHaveFindings(text) ? passagesOf(file, text) : [];
      return [...nameFindings(file), ...passages.flatMap(findingsIn)]
        .filter(({ line }) => !isAllowed(file, line))
        .map(({ at, found, instead }) => `${file}:${at}: "${found}" -> ${instead}`);
    });
}

/** Parsing is slow, and most files have nothing that any rule could match. */
function mayHaveFindings(text: string): boolean {
  return (
    PROSE_RULES.some(({ pattern }) => pattern.test(text)) ||
    /\b(?:test|it|describe)\b.*['"`](?:wh(?:at|o|om))/i.test(text) ||
    NAMES.test(text)
  );
}

const NAMES = new RegExp(
  [...Object.keys(RETIRED_PARTS), ...Object.keys(RETIRED_NAMES)].join('|'),
  'i',
);

const CHECKED = /\.(?:ts|tsx|js|mjs|sql|css|md|html)$|^openapi\.json$/;

const EXCLUDED =
  /^scripts\/language(?:-rules)?(?:\.test)?\.ts$|^server\/test\/fixtures\/|^docs\/openapi-released\.json$|^package-lock\.json$|^LICENSE$/;

type Kind = 'prose' | 'title' | 'identifier';

interface Passage {
  kind: Kind;
  text: string;
  /** Line number of the first character. */
  at: number;
}

interface Finding {
  at: number;
  found: string;
  instead: string;
  /** The line of text around the finding, for the list of allowed uses. */
  line: string;
}

function passagesOf(file: string, text: string): Passage[] {
  if (/\.(?:ts|tsx|js|mjs)$/.test(file)) return codePassages(file, text);
  if (file.endsWith('.sql')) return sqlPassages(text);
  if (file.endsWith('.css')) return matches(text, /\/\*[\s\S]*?\*\//g);
  if (file.endsWith('.md')) return [{ kind: 'prose', text: withoutCode(text), at: 1 }];
  if (file.endsWith('.html')) {
    return [
      { kind: 'prose', text: blankOut(text, /<(?:style|script)[\s\S]*?<\/|<[^>]*>/g), at: 1 },
    ];
  }
  return matches(text, /(?<="(?:description|title|summary)": ")(?:[^"\\]|\\.)*/g);
}

function codePassages(file: string, text: string): Passage[] {
  const kind = file.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, kind);
  const passages: Passage[] = [];
  /** Start and end of everything in which `//` does not begin a comment. */
  const literals: [number, number][] = [];
  const add = (kind: Kind, start: number, passage: string): void => {
    passages.push({ kind, text: passage, at: lineOf(start) });
  };
  const lineOf = (position: number): number =>
    source.getLineAndCharacterOfPosition(position).line + 1;
  const visit = (node: ts.Node, parent: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      add('identifier', node.getStart(source), node.text);
    } else if (ts.isJsxText(node) || isText(node) || ts.isRegularExpressionLiteral(node)) {
      const start = node.getStart(source);
      literals.push([start, node.end]);
      if (ts.isJsxText(node)) add('prose', start, node.text);
      else if (isProse(node, parent)) {
        add(isTestTitle(node, parent, source) ? 'title' : 'prose', start, node.getText(source));
      }
    }
    ts.forEachChild(node, (child) => visit(child, node));
  };
  visit(source, source);
  const comments = matches(blankOutRanges(text, literals), /\/\*[\s\S]*?\*\/|\/\/.*$/gm);
  return [...passages, ...comments.map((one) => ({ ...one, text: withoutCode(one.text) }))];
}

/** Strings of several words, except for module names. */
function isProse(node: ts.LiteralLikeNode, parent: ts.Node): boolean {
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return false;
  return !ts.isRegularExpressionLiteral(node) && /[A-Za-z] [A-Za-z]/.test(node.text);
}

function isText(node: ts.Node): node is ts.LiteralLikeNode {
  return (
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    node.kind === ts.SyntaxKind.TemplateHead ||
    node.kind === ts.SyntaxKind.TemplateMiddle ||
    node.kind === ts.SyntaxKind.TemplateTail
  );
}

/** The first argument of `test('…')`, `it('…')`, `describe('…')` and their variants. */
function isTestTitle(node: ts.Node, parent: ts.Node, source: ts.SourceFile): boolean {
  if (!ts.isCallExpression(parent) || parent.arguments[0] !== node) return false;
  return /^(?:test|it|describe)\b/.test(parent.expression.getText(source));
}

function sqlPassages(text: string): Passage[] {
  const names = matches(blankOut(text, /--.*$/gm), /[a-z_]\w*/gi);
  return [
    ...matches(text, /--.*$/gm),
    ...names.map((passage): Passage => ({ ...passage, kind: 'identifier' })),
  ];
}

function matches(text: string, pattern: RegExp): Passage[] {
  const passages: Passage[] = [];
  let at = 1;
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    // Counted on from the match before: a file may have ten thousand.
    at += linesIn(text.slice(end, match.index));
    end = match.index;
    passages.push({ kind: 'prose', text: match[0], at });
  }
  return passages;
}

/** Code in fences and backticks is not prose. */
function withoutCode(text: string): string {
  return blankOut(text, /^```[\s\S]*?^```|`[^`\n]*`|\]\([^)\s]*\)/gm);
}

/** Replaces matches by spaces, so that positions stay as they are. */
function blankOut(text: string, pattern: RegExp): string {
  return text.replaceAll(pattern, (match) => match.replaceAll(/[^\n]/g, ' '));
}

function blankOutRanges(text: string, ranges: readonly [number, number][]): string {
  let blanked = '';
  let end = 0;
  for (const [start, next] of ranges.toSorted(([a], [b]) => a - b)) {
    blanked += text.slice(end, start) + text.slice(start, next).replaceAll(/[^\n]/g, ' ');
    end = next;
  }
  return blanked + text.slice(end);
}

function linesIn(text: string): number {
  return text.split('\n').length - 1;
}

function findingsIn(passage: Passage): Finding[] {
  if (passage.kind === 'identifier') return identifierFindings(passage.text, passage.at);
  return passage.text.split('\n').flatMap((line, index) => {
    const at = passage.at + index;
    const found = ruleFindings(PROSE_RULES, line, at);
    if (passage.kind !== 'title' || index > 0) return found;
    return [...found, ...ruleFindings(TITLE_RULES, line.slice(1, -1), at)];
  });
}

function ruleFindings(rules: readonly LanguageRule[], line: string, at: number): Finding[] {
  return rules.flatMap(({ pattern, instead }) => {
    const found = pattern.exec(line)?.[0];
    return found === undefined ? [] : [{ at, found: found.trim(), instead, line }];
  });
}

function identifierFindings(name: string, at: number): Finding[] {
  if (Object.hasOwn(RETIRED_NAMES, name)) {
    return [{ at, found: name, instead: RETIRED_NAMES[name] as string, line: name }];
  }
  const parts = name.split(/[_$\W]+|(?<=[a-z0-9])(?=[A-Z])/).map((part) => part.toLowerCase());
  const retired = parts.find((part) => Object.hasOwn(RETIRED_PARTS, part));
  if (retired === undefined) return [];
  return [{ at, found: name, instead: RETIRED_PARTS[retired] as string, line: name }];
}

function nameFindings(file: string): Finding[] {
  return identifierFindings(file.replaceAll(/[-./]/g, '_'), 1).map((finding) => ({
    ...finding,
    found: path.basename(file),
    line: file,
  }));
}

function isAllowed(file: string, line: string): boolean {
  return ALLOWED.some((allowed) => allowed.file.test(file) && allowed.text.test(line));
}
