/**
 * The SMTP session of one message for display: the lines of both sides with milliseconds since the
 * start. It never contains message bodies or credentials. One is stored for every attempt, so it is
 * bounded and cheap to record.
 */

export interface SmtpTranscript {
  /** Epoch milliseconds. */
  startedAt: number;
  lines: SmtpTranscriptLine[];
}

export interface SmtpTranscriptLine {
  atMs: number;
  /** Which side sent the line; `note` is our own remark. */
  by: 'client' | 'server' | 'note';
  text: string;
}

const LINES_MAX = 200;
/** Of a long transcript, the beginning and the end say more than the middle. */
const LINES_KEPT_FROM_START = 150;
const LINE_CHARACTERS_MAX = 500;

export class TranscriptRecorder {
  readonly #startedAt: number;
  #lines: SmtpTranscriptLine[];
  #omitted = 0;

  constructor(startedAt: number) {
    this.#startedAt = startedAt;
    this.#lines = [];
  }

  add(nowMs: number, by: SmtpTranscriptLine['by'], text: string): void {
    this.#lines.push({ atMs: nowMs - this.#startedAt, by, text: truncate(text) });
    // Leaves space for the note about omitted lines.
    if (this.#lines.length >= LINES_MAX) {
      this.#lines.splice(LINES_KEPT_FROM_START, 1);
      this.#omitted += 1;
    }
  }

  addAll(nowMs: number, by: SmtpTranscriptLine['by'], texts: readonly string[]): void {
    for (const text of texts) this.add(nowMs, by, text);
  }

  finish(): SmtpTranscript {
    if (this.#omitted === 0) return { startedAt: this.#startedAt, lines: this.#lines };
    const before = this.#lines[LINES_KEPT_FROM_START - 1] as SmtpTranscriptLine;
    const note = {
      atMs: before.atMs,
      by: 'note' as const,
      text: `(${this.#omitted} lines omitted)`,
    };
    return {
      startedAt: this.#startedAt,
      lines: this.#lines.toSpliced(LINES_KEPT_FROM_START, 0, note),
    };
  }
}

function truncate(text: string): string {
  if (text.length <= LINE_CHARACTERS_MAX) return text;
  return `${text.slice(0, LINE_CHARACTERS_MAX - 1)}…`;
}

const DIRECTION_SIGNS = { client: '>', server: '<', note: '-' } as const;
const SPEAKERS: Readonly<Record<string, SmtpTranscriptLine['by']>> = {
  '>': 'client',
  '<': 'server',
  '-': 'note',
};

/**
 * The stored form: the start time, then one line per transcript line. JSON would be half again as
 * long, and accounted for a fifth of the database cost of recording a delivery.
 */
export function serializeTranscript({ startedAt, lines }: SmtpTranscript): string {
  let text = `${startedAt}`;
  for (const line of lines)
    text += `\n${line.atMs} ${DIRECTION_SIGNS[line.by]} ${oneLine(line.text)}`;
  return text;
}

export function parseTranscript(text: string): SmtpTranscript {
  const [startedAt, ...lines] = text.split('\n');
  return { startedAt: Number(startedAt), lines: lines.map(readLine) };
}

function readLine(line: string): SmtpTranscriptLine {
  const sign = line.indexOf(' ') + 1;
  return {
    atMs: Number(line.slice(0, sign - 1)),
    by: SPEAKERS[line.charAt(sign)] ?? 'note',
    text: line.slice(sign + 2),
  };
}

/** Replies contain no line breaks (reply-parser.ts), but error messages may. */
function oneLine(text: string): string {
  return text.includes('\n') ? text.replaceAll('\n', ' ') : text;
}

/** Joins two transcripts; times count from the start of the first. */
export function joinTranscripts(
  first: SmtpTranscript | undefined,
  second: SmtpTranscript,
): SmtpTranscript {
  if (!first) return second;
  const offsetMs = second.startedAt - first.startedAt;
  const lines = second.lines.map((line) => ({ ...line, atMs: line.atMs + offsetMs }));
  return { startedAt: first.startedAt, lines: [...first.lines, ...lines] };
}

/** A transcript with a single note, for attempts without an SMTP session. */
export function noteTranscript(nowMs: number, text: string): SmtpTranscript {
  return { startedAt: nowMs, lines: [{ atMs: 0, by: 'note', text: `(${text})` }] };
}
