import { domainToASCII, domainToUnicode } from 'node:url';

/**
 * Parses a domain name as used in mail: letters, digits and hyphens (RFC 1123 section 2.1), at
 * least two labels, lower case, internationalized labels as A-labels (RFC 5890). The result is safe
 * to use in a header, an SMTP command and a DNS query, and to compare.
 */

export type ParsedDomainName = { ok: true; domain: string } | { ok: false; detail: string };

const DOMAIN_OCTETS_MAX = 253;
const LABEL_OCTETS_MAX = 63;

export function parseDomainName(text: string): ParsedDomainName {
  let name = text;
  if (!isAscii(text)) {
    const error = unicodeError(text);
    if (error !== undefined) return invalid(error);
    name = domainToASCII(text);
    if (name === '') return invalid('The domain is not a valid internationalized name.');
  }
  const error = labelsError(name);
  if (error !== undefined) return invalid(error);
  const domain = name.toLowerCase();
  if (domain.includes('xn--') && !hasValidALabels(domain)) {
    return invalid('The domain has an "xn--" label that does not decode to a valid name.');
  }
  return { ok: true, domain };
}

/** The Unicode form of a parsed domain name, for display. */
export function displayDomain(domain: string): string {
  return domain.includes('xn--') ? domainToUnicode(domain) : domain;
}

function invalid(detail: string): ParsedDomainName {
  return { ok: false, detail };
}

export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false;
  return true;
}

// domainToASCII follows the URL standard, which is made for browsers: it undoes percent-encoding
// and drops invisible characters. Mail has neither, and a name that is not what it looks like is
// rejected instead of repaired. The joiners U+200C and U+200D are legitimate in Persian and Indic
// names and are left to the IDNA rules.
function unicodeError(text: string): string | undefined {
  if (!text.isWellFormed()) return 'The domain is not well-formed Unicode.';
  if (/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]/u.test(text)) {
    return 'The domain contains a space or a control character.';
  }
  if (/(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u.test(text)) {
    return 'The domain contains an invisible character.';
  }
  if (/[\x21-\x2c\x2f\x3a-\x40\x5b-\x60\x7b-\x7e]/.test(text)) {
    return 'The domain may contain only letters, digits, hyphens and dots.';
  }
  return undefined;
}

function labelsError(name: string): string | undefined {
  const length = name.length;
  if (length === 0) return 'The domain is missing.';
  if (length > DOMAIN_OCTETS_MAX) {
    return `The domain is longer than ${DOMAIN_OCTETS_MAX} octets.`;
  }
  let labelStart = 0;
  let labels = 0;
  for (let i = 0; i <= length; i++) {
    const code = i === length ? DOT : name.charCodeAt(i);
    if (code === DOT) {
      const error = labelError(name, labelStart, i);
      if (error !== undefined) return error;
      labels += 1;
      labelStart = i + 1;
    } else if (!isLetterDigitHyphen(code)) {
      return invalidCharacterDetail(code, name);
    }
  }
  if (labels < 2) return 'The domain has no dot: a full name such as example.com is required.';
  const lastStart = name.lastIndexOf('.') + 1;
  if (isDigit(name.charCodeAt(lastStart)) && NUMBER.test(name.slice(lastStart))) {
    return 'The domain ends in a number: an IP address is not a domain.';
  }
  return undefined;
}

const DOT = 0x2e;
const HYPHEN = 0x2d;
const NUMBER = /^(\d+|0x[0-9a-f]*)$/i;

function labelError(name: string, start: number, end: number): string | undefined {
  if (start === end) {
    if (end === name.length) return 'The domain ends with a dot.';
    return start === 0 ? 'The domain begins with a dot.' : 'The domain has two dots in a row.';
  }
  if (end - start > LABEL_OCTETS_MAX) {
    return `A part of the domain is longer than ${LABEL_OCTETS_MAX} octets.`;
  }
  if (name.charCodeAt(start) === HYPHEN || name.charCodeAt(end - 1) === HYPHEN) {
    return 'A part of the domain begins or ends with a hyphen.';
  }
  return undefined;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isLetterDigitHyphen(code: number): boolean {
  return (
    (code >= 0x61 && code <= 0x7a) ||
    isDigit(code) ||
    (code >= 0x41 && code <= 0x5a) ||
    code === HYPHEN
  );
}

function invalidCharacterDetail(code: number, name: string): string {
  if (code <= 0x20 || code === 0x7f) return 'The domain contains a space or a control character.';
  if (name.startsWith('[')) return 'The domain is an address literal: a domain name is required.';
  return 'The domain may contain only letters, digits, hyphens and dots.';
}

// RFC 5891 section 5.4: an A-label must decode to a name that encodes to the same A-label;
// otherwise domainToUnicode returns it unchanged. Without this check, two spellings of one name, or
// a name that cannot be registered, would be accepted.
function hasValidALabels(domain: string): boolean {
  for (const label of domain.split('.')) {
    if (!label.startsWith('xn--')) continue;
    const decoded = domainToUnicode(label);
    if (decoded === label || decoded === '') return false;
    if (decoded.startsWith('-') || decoded.endsWith('-')) return false;
  }
  return true;
}
