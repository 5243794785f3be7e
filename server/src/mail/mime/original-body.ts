/**
 * Decides which mail must keep the body that its sender composed, because composing it again from
 * text, HTML and attachments would change its meaning: a signature would no longer match, an
 * invitation would become a file, soft line breaks would become hard ones.
 */
export interface OriginalBody {
  /** The Content-* header fields as written, each ending with CRLF. */
  header: string;
  /** Where the body starts in the mail. It extends to the end. */
  bodyStart: number;
}

/** A part of a mail: its type, and its own parts. */
export interface PartStructure {
  /** Lower case, such as `text/plain`. */
  type: string;
  isFlowed: boolean;
  isAttachment: boolean;
  parts: readonly PartStructure[];
}

/** `sealed`: signed or encrypted, so that not a single byte of the body may change. */
export type OriginalNeed = 'sealed' | 'structure' | undefined;

const SEALED = new Set([
  'multipart/signed',
  'multipart/encrypted',
  'application/pkcs7-mime',
  'application/x-pkcs7-mime',
]);
const COMPOSED_MULTIPARTS = new Set([
  'multipart/mixed',
  'multipart/alternative',
  'multipart/related',
]);
const COMPOSED_TEXTS = new Set(['text/plain', 'text/html']);

export function needForOriginal(mail: PartStructure): OriginalNeed {
  if (contains(mail, ({ type }) => SEALED.has(type))) return 'sealed';
  const isSingleFile = mail.parts.length === 0 && !COMPOSED_TEXTS.has(mail.type);
  return isSingleFile || contains(mail, changesWhenComposed) ? 'structure' : undefined;
}

function contains(part: PartStructure, test: (part: PartStructure) => boolean): boolean {
  return test(part) || part.parts.some((inner) => contains(inner, test));
}

function changesWhenComposed({ type, isFlowed, isAttachment, parts }: PartStructure): boolean {
  if (type === 'text/plain') return isFlowed && !isAttachment;
  if (!type.startsWith('multipart/')) return false;
  if (!COMPOSED_MULTIPARTS.has(type)) return true;
  // Such as text/calendar, text/x-amp-html: the reader's program chooses among alternatives.
  return (
    type === 'multipart/alternative' &&
    parts.some((inner) => !inner.type.startsWith('multipart/') && !COMPOSED_TEXTS.has(inner.type))
  );
}

const EMPTY_LINE = Buffer.from('\r\n\r\n');
/** RFC 5322 section 2.1.1, without CRLF. */
const LINE_BYTES_MAX = 998;
const HEADER_BYTES_MAX = 8 * 1024;
const LF = 0x0a;

/** The body as it is, or why it cannot be sent as it is. */
export function readOriginalBody(
  mail: Buffer,
): { ok: true; body: OriginalBody } | { ok: false; reason: string } {
  const headerEnd = mail.indexOf(EMPTY_LINE);
  const head = mail.subarray(0, headerEnd === -1 ? mail.length : headerEnd + 2);
  const fields = head.toString('latin1').match(/^[!-9;-~]+[ \t]*:.*(?:\r\n[ \t].*)*\r\n/gm) ?? [];
  const own = fields.filter((field) => /^content-/i.test(field));
  const types = own.filter((field) => /^content-type[ \t]*:/i.test(field));
  if (types.length > 1) return { ok: false, reason: 'it has more than one Content-Type' };
  const header = own.join('');
  if (header.length > HEADER_BYTES_MAX) {
    return { ok: false, reason: `its Content headers have more than ${HEADER_BYTES_MAX} bytes` };
  }
  if (/[^\t\r\n -~]/.test(header)) return { ok: false, reason: 'a Content header is not ASCII' };
  const bodyStart = headerEnd === -1 ? mail.length : headerEnd + EMPTY_LINE.length;
  if (hasLongLine(mail, bodyStart) || own.some((field) => hasLongLine(Buffer.from(field), 0))) {
    return { ok: false, reason: `a line has more than ${LINE_BYTES_MAX} bytes` };
  }
  return { ok: true, body: { header, bodyStart } };
}

function hasLongLine(bytes: Buffer, start: number): boolean {
  let lineStart = start;
  while (bytes.length - lineStart > LINE_BYTES_MAX) {
    const lineEnd = bytes.indexOf(LF, lineStart);
    // The CR is not part of the line; the last line may lack both.
    const end = lineEnd === -1 ? bytes.length : lineEnd - 1;
    if (end - lineStart > LINE_BYTES_MAX) return true;
    if (lineEnd === -1) return false;
    lineStart = lineEnd + 1;
  }
  return false;
}
