import { decodeWords } from 'postal-mime';
import type { HeaderFields } from './mime-structure.ts';

/**
 * Whether a mail is an automatic reply, such as an out-of-office or ticket notice (RFC 3834 and
 * older conventions). It says nothing about the delivery.
 */
export function isAutoReply(header: HeaderFields): boolean {
  const submitted = header.get('auto-submitted');
  if (submitted !== undefined && !/^no\b/i.test(submitted)) return true;
  if (/^(auto_reply|bulk|junk|list)\b/i.test(header.get('precedence') ?? '')) return true;
  if (MARKS.some((name) => header.get(name) !== undefined)) return true;
  return isAutoReplySubject(decodedSubject(header));
}

export function isAutoReplySubject(subject: string): boolean {
  return SUBJECTS.test(subject);
}

/** The subject as a person reads it. */
export function decodedSubject(header: HeaderFields): string {
  const raw = (header.get('subject') ?? '').slice(0, SUBJECT_CHARS_MAX);
  return decodeWords(Buffer.from(raw, 'latin1').toString('utf8'));
}

const SUBJECT_CHARS_MAX = 1000;

const MARKS = [
  'x-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-auto-response-suppress',
  'x-vacation',
  'list-id',
];

const SUBJECTS =
  /^\s*(out of (the )?office|auto(matic|mated)?[ -]?(reply|respon[sd]e?r?)|autoreply|vacation|abwesen|automatische antwort|réponse automatique|respuesta automática|risposta automatica|resposta automática|automatisch antwoord)/i;
