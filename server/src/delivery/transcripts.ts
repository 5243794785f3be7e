import type { SmtpTranscript } from '../mail/smtp-client/transcript.ts';

/** One conversation after another, as one: times count from the beginning of the first. */
export function joinTranscripts(
  first: SmtpTranscript | undefined,
  second: SmtpTranscript,
): SmtpTranscript {
  if (!first) return second;
  const laterMs = second.startedAt - first.startedAt;
  const lines = second.lines.map((line) => ({ ...line, atMs: line.atMs + laterMs }));
  return { startedAt: first.startedAt, lines: [...first.lines, ...lines] };
}

/** A remark of ours where there was no conversation. */
export function noteTranscript(nowMs: number, text: string): SmtpTranscript {
  return { startedAt: nowMs, lines: [{ atMs: 0, by: 'note', text: `(${text})` }] };
}
