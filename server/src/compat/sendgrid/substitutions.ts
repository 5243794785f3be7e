import { invalidFields } from '../../lib/refused-error.ts';

/** As at SendGrid, for the texts and values of one personalization together. */
const BYTES_MAX = 10_000;
/** Bounds how many characters are compared at each position of the content. */
const TAG_CHARS_MAX = 128;

/**
 * Replaces the substitution tags of a personalization, such as `-name-`, by their values. Values are
 * inserted as they are and are not searched again, so a value cannot refer to another one. Where two
 * tags begin at the same position, the longer one is replaced.
 */
export class Substitutions {
  readonly #values: ReadonlyMap<string, string>;
  readonly #tags: RegExp | undefined;
  readonly #budget: SizeBudget;

  constructor(values: Readonly<Record<string, string>>, budget: SizeBudget, pointer: string) {
    checkTags(values, pointer);
    this.#values = new Map(Object.entries(values));
    const tags = [...this.#values.keys()].sort((a, b) => b.length - a.length);
    this.#tags = tags.length > 0 ? new RegExp(tags.map(escapeText).join('|'), 'g') : undefined;
    this.#budget = budget;
  }

  apply(text: string): string {
    const pieces: string[] = [];
    let end = 0;
    for (const { 0: tag, index } of this.#tags ? text.matchAll(this.#tags) : []) {
      const value = this.#values.get(tag) as string;
      this.#budget.spend(index - end + value.length);
      pieces.push(text.slice(end, index), value);
      end = index + tag.length;
    }
    this.#budget.spend(text.length - end);
    return end === 0 ? text : pieces.join('') + text.slice(end);
  }
}

function checkTags(values: Readonly<Record<string, string>>, pointer: string): void {
  let bytes = 0;
  for (const [tag, value] of Object.entries(values)) {
    bytes += Buffer.byteLength(tag) + Buffer.byteLength(value);
    if (tag.length > 0 && tag.length <= TAG_CHARS_MAX) continue;
    const detail = `A substitution tag has 1 to ${TAG_CHARS_MAX} characters.`;
    throw invalidFields([{ pointer, code: 'invalid_length', detail }]);
  }
  if (bytes <= BYTES_MAX) return;
  const detail = `Substitutions can have at most ${BYTES_MAX} bytes for each personalization; these have ${bytes}.`;
  throw invalidFields([{ pointer, code: 'too_long', detail }]);
}

function escapeText(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

/**
 * Limits what one request expands to: every message has its own copy of the content, and a short tag
 * can have a long value. Together the messages may be as large as a request.
 */
export class SizeBudget {
  readonly #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  spend(chars: number): void {
    this.#left -= chars;
    if (this.#left >= 0) return;
    const detail = `The messages of one request can have at most ${this.#max} bytes together. Use fewer personalizations, or link to files instead of attaching them.`;
    throw invalidFields([{ pointer: '/personalizations', code: 'message_too_large', detail }]);
  }
}
