import { type HtmlScan, scanHtml } from '../../lib/html/scan.ts';
import { FINDINGS_MAX, type TemplateFinding } from '../checks/template-finding.ts';
import { LineIndex } from '../engine/content-errors.ts';
import { maskPlaceholders, type PlaceholderSpan } from '../engine/lexer.ts';

/** An HTML field being linted: the source, and a copy with placeholders masked. */
export class HtmlPage {
  readonly source: string;
  readonly field: string;
  readonly spans: readonly PlaceholderSpan[];
  readonly masked: string;
  readonly scan: HtmlScan;
  readonly #findings: TemplateFinding[];
  #lines: LineIndex | undefined;

  constructor(
    source: string,
    field: string,
    spans: readonly PlaceholderSpan[],
    findings: TemplateFinding[],
  ) {
    this.source = source;
    this.field = field;
    this.spans = spans;
    this.masked = maskPlaceholders(source, spans);
    this.scan = scanHtml(this.masked);
    this.#findings = findings;
  }

  report(
    severity: TemplateFinding['severity'],
    code: string,
    offset: number,
    message: string,
  ): void {
    if (this.#findings.length >= FINDINGS_MAX) return;
    this.#lines ??= new LineIndex(this.source);
    const { line, column } = this.#lines.positionAt(offset);
    this.#findings.push({ severity, code, message, field: this.field, line, column });
  }

  /** A range of the source as its author wrote it. */
  sourceText(start: number, length: number): string {
    return this.source.slice(start, start + length);
  }
}
