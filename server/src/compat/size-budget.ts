import { invalidFields } from '../lib/refused-error.ts';

/**
 * Limits what one request expands to: every message has its own copy of the content, and a short
 * placeholder can have a long value. It is spent before a text is built.
 */
export class SizeBudget {
  readonly #refusal: { pointer: string; detail: string };
  #left: number;

  constructor(max: number, refusal: { pointer: string; detail: string }) {
    this.#left = max;
    this.#refusal = refusal;
  }

  spend(chars: number): void {
    this.#left -= chars;
    if (this.#left >= 0) return;
    throw invalidFields([{ ...this.#refusal, code: 'message_too_large' }]);
  }
}
