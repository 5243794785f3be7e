import { didYouMean } from '../../lib/did-you-mean.ts';
import { ContentLimitError, ContentSyntaxError, LineIndex } from '../engine/content-errors.ts';
import {
  type OutputFormat,
  type ParsedContent,
  type Partials,
  parseContent,
} from '../template-engine.ts';
import { checkHtml } from './check-html.ts';
import { type PathUse, pathUses } from './path-uses.ts';
import {
  FINDINGS_MAX,
  limitFinding,
  syntaxFindings,
  type TemplateFinding,
} from './template-finding.ts';

/**
 * Lints content before it is published or sent. Input: the fields as their author wrote them.
 * Output: findings, each with a message and a position. Errors block publishing, warnings do not.
 * Runs in linear time.
 */

interface CheckedContent {
  subject?: string | undefined;
  html?: string | undefined;
  text?: string | undefined;
}

export interface CheckOptions {
  /** Names of the declared variables (`order.id`, `lines[].price`). Without them no name is unknown. */
  declared?: readonly string[] | undefined;
  /** Contact fields that exist. Without them no field is unknown. */
  contactFields?: readonly string[] | undefined;
  partials?: Partials | undefined;
  /** Prefix of every field name, such as `locales.de.`. */
  fieldPrefix?: string | undefined;
  /** The content is a layout or partial, so checks that only apply to whole documents are skipped. */
  fragment?: boolean | undefined;
}

export function checkContent(
  content: CheckedContent,
  options: CheckOptions = {},
): TemplateFinding[] {
  const findings: TemplateFinding[] = [];
  const prefix = options.fieldPrefix ?? '';
  const parsed = [
    parseField(content.subject, 'header', `${prefix}subject`, findings),
    parseField(content.html, 'html', `${prefix}html`, findings),
    parseField(content.text, 'text', `${prefix}text`, findings),
  ].filter((field) => field !== undefined);
  checkPaths(parsed, options, findings);
  const html = parsed.find((field) => field.format === 'html');
  if (html) {
    const hasText = (content.text ?? '').trim() !== '';
    checkHtml(html, { fragment: options.fragment ?? false, hasText }, findings);
  }
  return findings.slice(0, FINDINGS_MAX);
}

function parseField(
  source: string | undefined,
  format: OutputFormat,
  field: string,
  findings: TemplateFinding[],
): ParsedContent | undefined {
  if (source === undefined) return undefined;
  try {
    return parseContent(source, format, field);
  } catch (error) {
    if (error instanceof ContentSyntaxError) {
      findings.push(...syntaxFindings(error, field));
    } else if (error instanceof ContentLimitError) {
      findings.push(limitFinding(error, field));
    } else throw error;
    return undefined;
  }
}

const MESSAGE_FIELDS = ['id', 'to', 'from'];

function checkPaths(
  parsed: readonly ParsedContent[],
  options: CheckOptions,
  findings: TemplateFinding[],
): void {
  const lines = new Map<string, LineIndex>();
  const positionOf = ({ source, at }: PathUse) => {
    const known = lines.get(source) ?? new LineIndex(source);
    lines.set(source, known);
    return known.positionAt(at);
  };
  for (const field of parsed) {
    const reported = new Set<string>();
    for (const use of pathUsesIn(field, options, findings)) {
      if (findings.length >= FINDINGS_MAX) return;
      const problem = reported.has(use.path) ? undefined : unknownPath(use, options);
      reported.add(use.path);
      if (!problem) continue;
      findings.push({
        severity: problem.severity,
        code: 'unknown_path',
        message: problem.message,
        field: use.field,
        ...positionOf(use),
      });
    }
  }
}

function pathUsesIn(
  field: ParsedContent,
  { partials }: CheckOptions,
  findings: TemplateFinding[],
): readonly PathUse[] {
  try {
    return pathUses(field, partials);
  } catch (error) {
    if (!(error instanceof ContentLimitError)) throw error;
    findings.push(limitFinding(error, error.field));
    return [];
  }
}

function unknownPath(
  use: PathUse,
  { declared, contactFields }: CheckOptions,
): Pick<TemplateFinding, 'severity' | 'message'> | undefined {
  const [root = '', ...rest] = use.path.split('.');
  const below = rest.join('.');
  if (root === 'message') {
    if (below === '' || MESSAGE_FIELDS.includes(below)) return undefined;
    return {
      severity: 'error',
      message: `\`message\` has no field \`${below}\`. Available fields: ${MESSAGE_FIELDS.join(', ')}.`,
    };
  }
  if (root === 'contact') {
    const name = rest[0]?.replace('[]', '');
    if (name === undefined || !contactFields || contactFields.includes(name)) return undefined;
    return { severity: 'warning', message: `No contact has the field \`${name}\` yet.` };
  }
  if (!declared || declared.some((name) => covers(name, use.path))) return undefined;
  const suggestion = didYouMean(use.path, declared);
  return {
    // The variable will be inferred; only the author knows whether the name is a typo.
    severity: 'warning',
    message: `\`${use.path}\` is not a declared variable.${suggestion ? ` Did you mean \`${suggestion}\`?` : ''}`,
  };
}

/** A declared `order` covers `order.id`; a declared `order.id` covers a use of `order`. */
function covers(name: string, path: string): boolean {
  return name === path || isNestedIn(path, name) || isNestedIn(name, path);
}

function isNestedIn(path: string, parent: string): boolean {
  return path.startsWith(`${parent}.`) || path.startsWith(`${parent}[]`);
}
