import { ContentLimitError, ContentSyntaxError } from '../engine/content-errors.ts';

/** An issue that linting found in a template, layout, partial or inline content. */
export interface TemplateFinding {
  severity: 'error' | 'warning';
  code: string;
  message: string;
  field: string;
  line: number;
  column: number;
}

/** Findings reported for one content. */
export const FINDINGS_MAX = 200;

export function hasErrors(findings: readonly TemplateFinding[]): boolean {
  return findings.some(({ severity }) => severity === 'error');
}

export function syntaxFindings({ issues }: ContentSyntaxError, field: string): TemplateFinding[] {
  return issues.map(({ detail, line, column }) => ({
    severity: 'error',
    code: 'template_syntax',
    message: detail,
    field,
    line,
    column,
  }));
}

export function limitFinding(
  { detail: message }: ContentLimitError,
  field: string,
): TemplateFinding {
  return { severity: 'error', code: 'template_limit', message, field, line: 1, column: 1 };
}

/** The findings for a field that cannot be parsed; rethrows other errors. */
export function findingsFor(error: unknown): TemplateFinding[] {
  if (error instanceof ContentSyntaxError) return syntaxFindings(error, error.field);
  if (error instanceof ContentLimitError) return [limitFinding(error, error.field)];
  throw error;
}

/** A finding without a more exact position. */
export function finding(
  severity: TemplateFinding['severity'],
  code: string,
  message: string,
  field: string,
): TemplateFinding {
  return { severity, code, message, field, line: 1, column: 1 };
}
