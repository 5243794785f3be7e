import { ContentLimitError, LineIndex, type Position } from './content-errors.ts';

/**
 * The work budget of one send across all its fields, and the values that rendering found missing. Work
 * is counted rather than timed, so a template passes or fails the same way on an idle and on a busy
 * machine. With the defaults the worst template runs for a few hundred milliseconds.
 */

export interface MissingValue {
  /** As an author would write it: `order.lines[2].price`. */
  path: string;
  field: string;
  line: number;
  column: number;
  /** `missing_variable`: no value and no default. `invalid_variable`: a value of the wrong type. */
  code: 'missing_variable' | 'invalid_variable';
  detail: string;
}

/** A value was neutralized; the message can still be sent. */
export interface RenderWarning {
  code: 'unsafe_url' | 'unsafe_css';
  field: string;
  line: number;
  column: number;
  detail: string;
}

export interface RenderLimits {
  /** One unit is about one visited node, one list element or sixteen characters. */
  workMax: number;
  iterationsMax: number;
  /** Characters of a rendered field, and of any intermediate value. */
  outputMaxChars: number;
  missingMax: number;
}

export const DEFAULT_RENDER_LIMITS: RenderLimits = {
  workMax: 2_000_000,
  iterationsMax: 50_000,
  outputMaxChars: 2 * 1024 * 1024,
  missingMax: 100,
};

/** The work that all messages of a batch may do together: twice that of a single message. */
export class SharedWork {
  left: number;

  constructor(workMax = 2 * DEFAULT_RENDER_LIMITS.workMax) {
    this.left = workMax;
  }

  spend(work: number, field: string): void {
    this.left -= work;
    if (this.left < 0) {
      throw new ContentLimitError(
        field,
        'Rendering the batch takes too long. Send smaller batches.',
      );
    }
  }
}

export class RenderBudget {
  readonly missing: MissingValue[] = [];
  readonly warnings: RenderWarning[] = [];
  readonly limits: RenderLimits;
  /** False once a value with NUL or an unpaired surrogate was written, which PostgreSQL rejects. */
  outputIsStorable = true;
  /** Undefined unless the message is part of a batch. */
  readonly sharedWork: SharedWork | undefined;
  #workLeft: number;
  #iterationsLeft: number;
  readonly #lines = new Map<string, LineIndex>();

  constructor(limits: Partial<RenderLimits> = {}, sharedWork?: SharedWork) {
    this.limits = { ...DEFAULT_RENDER_LIMITS, ...limits };
    this.sharedWork = sharedWork;
    this.#workLeft = this.limits.workMax;
    this.#iterationsLeft = this.limits.iterationsMax;
  }

  spend(work: number, field: string): void {
    this.sharedWork?.spend(work, field);
    this.#workLeft -= work;
    if (this.#workLeft < 0) {
      throw new ContentLimitError(field, 'Rendering takes too long. Use shorter loops and lists.');
    }
  }

  iterate(times: number, field: string): void {
    this.#iterationsLeft -= times;
    if (!(this.#iterationsLeft >= 0)) {
      throw new ContentLimitError(
        field,
        `Loops run more than ${this.limits.iterationsMax} times in total.`,
      );
    }
  }

  /** Records each use of a path once, up to the limit. */
  addMissing(missing: MissingValue): void {
    if (this.missing.length >= this.limits.missingMax) return;
    const known = this.missing.some(
      (other) =>
        other.path === missing.path &&
        other.field === missing.field &&
        other.line === missing.line &&
        other.column === missing.column,
    );
    if (!known) this.missing.push(missing);
  }

  /** Indexed per source, because a loop can report the same position thousands of times. */
  positionOf(source: string, offset: number): Position {
    let lines = this.#lines.get(source);
    if (!lines) {
      lines = new LineIndex(source);
      this.#lines.set(source, lines);
    }
    return lines.positionAt(offset);
  }

  addWarning(warning: RenderWarning): void {
    if (this.warnings.length < this.limits.missingMax) this.warnings.push(warning);
  }
}
