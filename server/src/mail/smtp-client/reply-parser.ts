/**
 * Parses a receiver's bytes into replies (RFC 5321 section 4.2). Input is untrusted: overlong lines
 * or replies, contradictory codes and lines that are not replies are `malformed`, and nothing after
 * them is read. Control characters are removed from the text, so that it can be stored and
 * displayed.
 */

export interface SmtpReply {
  code: number;
  /** RFC 3463, such as `5.1.1`; null when the receiver sent none, or one of another class. */
  enhanced: string | null;
  /** The text without codes, lines joined by a space. */
  text: string;
}

export interface ReceivedReply {
  reply: SmtpReply;
  /** The lines as received, without line endings, for the transcript and for EHLO keywords. */
  lines: readonly string[];
}

/** RFC 5321 section 4.5.3.1.5 allows 512; some receivers put long links into their replies. */
const LINE_BYTES_MAX = 2048;
const REPLY_BYTES_MAX = 64 * 1024;
const TEXT_CHARACTERS_MAX = 1024;

export class ReplyParser {
  /** Why the input is malformed; null while it is valid. */
  malformed: string | null = null;

  // Kept as latin1, so that a UTF-8 sequence split across packets stays intact.
  #bytes = '';
  #at = 0;
  #lines: string[] = [];
  #replyBytes = 0;

  push(chunk: Buffer): void {
    const bytes = chunk.toString('latin1');
    this.#bytes = this.#at === this.#bytes.length ? bytes : this.#bytes.slice(this.#at) + bytes;
    this.#at = 0;
  }

  /** The next complete reply; undefined when more bytes are needed or the input is malformed. */
  next(): ReceivedReply | undefined {
    while (this.malformed === null) {
      const lineEnd = this.#bytes.indexOf('\n', this.#at);
      if (lineEnd === -1) {
        if (this.#bytes.length - this.#at > LINE_BYTES_MAX) this.malformed = 'reply line too long';
        return undefined;
      }
      const complete = this.#takeLine(lineEnd);
      if (complete) return complete;
    }
    return undefined;
  }

  /**
   * Whether bytes remain that belong to no returned reply; there must be none before TLS starts.
   */
  get hasUnread(): boolean {
    return this.#at < this.#bytes.length || this.#lines.length > 0;
  }

  #takeLine(lineEnd: number): ReceivedReply | undefined {
    const start = this.#at;
    this.#at = lineEnd + 1;
    // A bare LF also ends a line: old receivers send it, and nothing here depends on the CR.
    const end =
      this.#bytes.charCodeAt(lineEnd - 1) === 13 && lineEnd > start ? lineEnd - 1 : lineEnd;
    this.#replyBytes += this.#at - start;
    if (end - start > LINE_BYTES_MAX) return this.#fail('reply line too long');
    if (this.#replyBytes > REPLY_BYTES_MAX) return this.#fail('reply too long');

    const line = clean(this.#bytes.slice(start, end));
    const code = replyCode(line);
    const first = this.#lines[0];
    if (code === 0) return this.#fail(`not a reply: ${line.slice(0, 80)}`);
    if (first !== undefined && !line.startsWith(first.slice(0, 3))) {
      return this.#fail('one reply with two codes');
    }
    this.#lines.push(line);
    if (line.charCodeAt(3) === HYPHEN) return undefined;

    const lines = this.#lines;
    this.#lines = [];
    this.#replyBytes = 0;
    return { reply: toReply(code, lines), lines };
  }

  #fail(why: string): undefined {
    this.malformed = why;
  }
}

const HYPHEN = 45;
const SPACE = 32;

/** The code of a well-formed line, or 0. `250`, `250 text` and `250-text` are well formed. */
function replyCode(line: string): number {
  const class_ = line.charCodeAt(0) - 48;
  const tens = line.charCodeAt(1) - 48;
  const ones = line.charCodeAt(2) - 48;
  if (!(class_ >= 2 && class_ <= 5 && tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9)) return 0;
  if (line.length > 3 && line.charCodeAt(3) !== SPACE && line.charCodeAt(3) !== HYPHEN) return 0;
  return class_ * 100 + tens * 10 + ones;
}

const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}(?: |$)/;

function toReply(code: number, lines: readonly string[]): SmtpReply {
  const first = (lines[0] as string).slice(4);
  const enhanced = enhancedCode(code, first);
  if (lines.length === 1) {
    return { code, enhanced, text: truncate(enhanced ? first.slice(enhanced.length + 1) : first) };
  }
  const texts = lines.map((line) => {
    const text = line.slice(4);
    // RFC 2034 repeats the enhanced code on every line; it is kept once, in its own field.
    return enhanced && text.startsWith(enhanced) ? text.slice(enhanced.length + 1) : text;
  });
  return { code, enhanced, text: truncate(texts.join(' ')) };
}

/** RFC 2034 section 4: the class of the enhanced code must match the reply code. */
function enhancedCode(code: number, text: string): string | null {
  if (text.charCodeAt(0) - 48 !== Math.floor(code / 100) || !ENHANCED.test(text)) return null;
  const end = text.indexOf(' ');
  return end === -1 ? text : text.slice(0, end);
}

/** Never cuts inside a surrogate pair, which PostgreSQL would reject in JSON. */
function truncate(text: string): string {
  if (text.length <= TEXT_CHARACTERS_MAX) return text;
  return text.slice(0, TEXT_CHARACTERS_MAX).toWellFormed();
}

const UNUSUAL = /[^\x20-\x7e]/;
const CONTROL = /\p{Cc}/gu;

function clean(latin1: string): string {
  if (!UNUSUAL.test(latin1)) return latin1;
  return Buffer.from(latin1, 'latin1').toString('utf8').replace(CONTROL, ' ');
}
