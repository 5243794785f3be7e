import { isAscii, parseDomainName } from './domain-name.ts';

/**
 * Parses a mailbox (RFC 5321 section 4.1.2, with UTF-8 local parts per RFC 6531). Takes untrusted
 * text; returns the canonical spelling, which is safe to use in an SMTP command or a header, or an
 * explanation of the error. Comments, display names and domain literals are rejected; nothing is
 * repaired.
 */

export interface Mailbox {
  local: string;
  /** Lower case, A-labels. */
  domain: string;
  /** `local@domain`, for display, headers and the envelope. */
  email: string;
  /** The lower-case address, for comparison: suppressions, contacts, duplicates. */
  key: string;
  /** The local part is not ASCII, so the receiver must support SMTPUTF8. */
  utf8: boolean;
}

export interface NamedMailbox extends Mailbox {
  name?: string;
}

export type ParsedMailbox = { ok: true; mailbox: Mailbox } | { ok: false; detail: string };

const LOCAL_OCTETS_MAX = 64;
const EMAIL_OCTETS_MAX = 254;
// Well above the longest valid address; bounds the work spent on hostile input.
const TEXT_CHARS_MAX = 1024;

export function parseMailbox(given: string): ParsedMailbox {
  if (given.length === 0) return invalid('The address is empty.');
  if (given.length > TEXT_CHARS_MAX) return invalid(TOO_LONG);
  // Must happen before characters are checked: normalization can turn a lookalike into ASCII
  // punctuation (U+037E becomes a semicolon).
  const text = isAscii(given) ? given : given.normalize('NFC');
  const split = text.charCodeAt(0) === QUOTE ? quotedLocalPart(text) : dotAtom(text);
  if ('detail' in split) return invalid(split.detail);

  const { local, utf8 } = split;
  const octets = utf8 ? Buffer.byteLength(local) : local.length;
  if (octets > LOCAL_OCTETS_MAX) {
    return invalid(`The part before the @ is longer than ${LOCAL_OCTETS_MAX} octets.`);
  }
  const parsed = parseDomainName(text.slice(split.at + 1));
  if (!parsed.ok) return parsed;
  const { domain } = parsed;
  if (octets + 1 + domain.length > EMAIL_OCTETS_MAX) return invalid(TOO_LONG);

  const email = `${local}@${domain}`;
  const key = utf8 ? email.toLowerCase().normalize('NFC') : email.toLowerCase();
  return { ok: true, mailbox: { local, domain, email, key, utf8 } };
}

/** Writes an address with its name as JSON APIs show it, without encoded words. */
export function formatAddress({ email, name }: { email: string; name?: string | null }): string {
  if (!name) return email;
  const isPlain = /^[\w!#$%&'*+/=?^`{|}~ -]+$/.test(name);
  return `${isPlain ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`} <${email}>`;
}

const TOO_LONG = `The address is longer than ${EMAIL_OCTETS_MAX} octets.`;
const NO_AT = 'The address has no @.';
const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const AT = 0x40;
const DOT = 0x2e;
const SPACE = 0x20;

type Split = { local: string; at: number; utf8: boolean } | { detail: string };

function invalid(detail: string): ParsedMailbox {
  return { ok: false, detail };
}

function dotAtom(text: string): Split {
  let utf8 = false;
  let previous = DOT;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === AT) {
      if (i === 0) return { detail: 'The address has nothing before the @.' };
      if (previous === DOT) return { detail: 'The part before the @ ends with a dot.' };
      if (text.includes('@', i + 1)) return { detail: 'The address has more than one @.' };
      return validLocalPart(text.slice(0, i), i, utf8);
    }
    if (code === DOT && previous === DOT) {
      return {
        detail:
          i === 0
            ? 'The part before the @ begins with a dot.'
            : 'The part before the @ has two dots in a row.',
      };
    }
    if (code > 0x7f) utf8 = true;
    else if (ATEXT_OR_DOT[code] === 0) return { detail: invalidCharacterDetail(text, code) };
    previous = code;
  }
  return { detail: NO_AT };
}

const ATEXT_OR_DOT = new Uint8Array(128);
for (const char of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~.") {
  ATEXT_OR_DOT[char.charCodeAt(0)] = 1;
}

function invalidCharacterDetail(text: string, code: number): string {
  if (text.trim() !== text) return 'The address has spaces around it.';
  if (code < SPACE || code === 0x7f) return 'The address contains a control character.';
  if (code === SPACE && !text.includes('<')) return 'The address contains a space.';
  if (text.includes('<')) {
    return 'The address contains "<". Give only the address here, and the name in its own field.';
  }
  return `The part before the @ contains "${String.fromCharCode(code)}", which must be quoted.`;
}

// RFC 5321 section 4.1.2: all quoted forms of a local part are equivalent, and the sender should
// use the one with the least quoting. The canonical form also keeps `"jane"@example.com` from
// bypassing the suppression of jane@example.com.
function quotedLocalPart(text: string): Split {
  let content = '';
  let utf8 = false;
  for (let i = 1; i < text.length; i++) {
    let code = text.charCodeAt(i);
    if (code === QUOTE) {
      if (text.charCodeAt(i + 1) === AT) return validLocalPart(leastQuoted(content), i + 1, utf8);
      return { detail: 'A quoted part before the @ must be followed by the @.' };
    }
    if (code === BACKSLASH) {
      i += 1;
      code = text.charCodeAt(i);
      if (!(code >= SPACE && code < 0x7f)) {
        return { detail: 'A backslash must be followed by a printable ASCII character.' };
      }
    } else if (code < SPACE || code === 0x7f) {
      return { detail: 'The address contains a control character.' };
    }
    if (code > 0x7f) utf8 = true;
    content += String.fromCharCode(code);
  }
  return { detail: 'The quoted part before the @ has no closing quote.' };
}

function leastQuoted(content: string): string {
  const bare = dotAtom(`${content}@`);
  const isDotAtom = 'local' in bare && bare.at === content.length;
  return isDotAtom ? content : `"${content.replace(/["\\]/g, '\\$&')}"`;
}

function validLocalPart(local: string, at: number, utf8: boolean): Split {
  if (!utf8) return { local, at, utf8 };
  if (!local.isWellFormed()) return { detail: 'The address is not well-formed Unicode.' };
  if (DECEPTIVE.test(local)) {
    return { detail: 'The address contains an invisible, spacing or control character.' };
  }
  return { local, at, utf8 };
}

// RFC 6531 allows these, but they only occur by accident or to deceive: C1 controls, non-ASCII
// spaces, line separators, direction overrides, private use. The joiners U+200C and U+200D are
// allowed because Persian and Indic scripts need them.
const DECEPTIVE =
  /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Co}\p{Noncharacter_Code_Point}\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
