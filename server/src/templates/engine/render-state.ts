import { didYouMean } from '../../lib/did-you-mean.ts';
import { ContentLimitError, type Position } from './content-errors.ts';
import type { RenderBudget } from './render-budget.ts';
import { type LoopFrame, SafeHtml, type WorkMeter } from './values.ts';

/** Characters that a search compares in about the time of visiting a node. */
const SEARCH_CHARS_PER_UNIT = 128;

const SUGGESTED_FROM_MAX = 100;

/** The value of a local variable that was assigned from an absent path. */
export class Absent {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }
}

export interface RenderSettings {
  field: string;
  source: string;
  format: 'html' | 'text' | 'header';
  locale: string;
  timeZone: string;
  nowMs: number | undefined;
}

/** Where a path starts: its first name, and the depth of the loop that binds it, or -1. */
interface PathStart {
  root: string;
  frame: number;
  at: number;
}

/**
 * The state of one render of one field. It does not outlive the render, so renders cannot affect each
 * other. A partial gets its own state, which shares the data and the budget.
 */
export class RenderState implements WorkMeter {
  out = '';
  /** Counts every report, including those beyond the limit of the budget's list. */
  reports = 0;
  readonly settings: RenderSettings;
  readonly data: Readonly<Record<string, unknown>>;
  readonly budget: RenderBudget;
  readonly frames: LoopFrame[] = [];
  readonly locals = new Map<string, unknown>();
  readonly cycles = new Map<string, number>();
  readonly counters = new Map<string, number>();
  #written = 0;

  constructor(
    settings: RenderSettings,
    data: Readonly<Record<string, unknown>>,
    budget: RenderBudget,
  ) {
    this.settings = settings;
    this.data = data;
    this.budget = budget;
  }

  write(text: string): void {
    this.#written += text.length;
    if (this.#written > this.budget.limits.outputMaxChars) this.failTooLong();
    this.out += text;
  }

  spend(work: number): void {
    this.budget.spend(work, this.settings.field);
  }

  /** Charges for a string or list that is read or created. */
  spendOnLength(length: number): void {
    if (length > this.budget.limits.outputMaxChars) this.failTooLong();
    this.budget.spend(1 + (length >> 4), this.settings.field);
  }

  /** Charges for reading a whole value if it is text. */
  spendOnText(value: unknown): void {
    if (typeof value === 'string') this.spendOnLength(value.length);
    else if (value instanceof SafeHtml) this.spendOnLength(value.html.length);
  }

  /** In the worst case a search compares the whole needle at every position of the text. */
  spendOnSearch(text: string, needle: string): void {
    this.spendOnLength(text.length);
    this.spend(Math.floor((text.length * needle.length) / SEARCH_CHARS_PER_UNIT));
  }

  failTooLong(): never {
    throw new ContentLimitError(
      this.settings.field,
      `The result is longer than ${this.budget.limits.outputMaxChars} characters.`,
    );
  }

  position(at: number): Position {
    return this.budget.positionOf(this.settings.source, at);
  }

  reportMissing(expr: PathStart, path: string): void {
    const detail = `\`${path}\` has no value and no default.${this.#didYouMean(expr)}`;
    this.report(expr.at, path, 'missing_variable', detail);
  }

  /** Suggests a similar name. Only the first of many given names are considered. */
  #didYouMean({ root, frame }: PathStart): string {
    if (frame !== -1 || Object.hasOwn(this.data, root)) return '';
    if (this.budget.missing.length >= this.budget.limits.missingMax) return '';
    const meant = didYouMean(root, Object.keys(this.data).slice(0, SUGGESTED_FROM_MAX));
    return meant === undefined ? '' : ` Did you mean \`${meant}\`?`;
  }

  report(
    at: number,
    path: string,
    code: 'missing_variable' | 'invalid_variable',
    detail: string,
  ): void {
    this.reports += 1;
    if (this.budget.missing.length >= this.budget.limits.missingMax) return;
    const { line, column } = this.position(at);
    this.budget.addMissing({ path, field: this.settings.field, line, column, code, detail });
  }

  warn(at: number, code: 'unsafe_url' | 'unsafe_css', detail: string): void {
    if (this.budget.warnings.length >= this.budget.limits.missingMax) return;
    const { line, column } = this.position(at);
    this.budget.addWarning({ code, field: this.settings.field, line, column, detail });
  }
}
