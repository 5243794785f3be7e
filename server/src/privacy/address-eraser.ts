import { domainToUnicode } from 'node:url';
import { ERASED_ADDRESS } from '../suppressions/erased-address.ts';

/**
 * Replaces an address in text and JSON. It is found in any case, in both spellings of its domain,
 * and in the encodings of HTML and links, but only as a whole: erasing ann@example.com keeps
 * joann@example.com and ann@example.com.au.
 */

export const ERASED_TEXT = '[erased]';

export interface Eraser {
  text(given: string): string;
  /** Returns the same object when the address does not occur in it. */
  json<T>(given: T): T;
}

export function createEraser(emailKey: string): Eraser {
  const address = [...addressForms(emailKey)].map(escapeRegExp).join('|');
  const pattern = new RegExp(`${LOCAL_PART_START}(?:${address})${DOMAIN_END}`, 'giu');
  const text = (given: string): string => given.replace(pattern, ERASED_ADDRESS);
  return { text, json: (given) => eraseIn(given, text) as typeof given };
}

function addressForms(emailKey: string): Set<string> {
  const at = emailKey.lastIndexOf('@') + 1;
  const shown = emailKey.slice(0, at) + domainToUnicode(emailKey.slice(at));
  return new Set(
    [emailKey, shown].flatMap((address) => [
      address,
      htmlEscaped(address),
      encodeURIComponent(address),
      encodeURIComponent(address).replaceAll(/[!'()*]/g, percentEncoded),
    ]),
  );
}

/** The hex digits of a percent-encoded character are not part of the address after it. */
const LOCAL_PART_START = '(?:(?<=%[0-9a-f]{2})|(?<![\\p{L}\\p{N}_.+-]))';
const DOMAIN_END = '(?!\\.?[\\p{L}\\p{N}-])';

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
}

function eraseIn(value: unknown, text: (given: string) => string): unknown {
  if (typeof value === 'string') return text(value);
  if (Array.isArray(value)) {
    const items = value.map((item) => eraseIn(item, text));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (value === null || typeof value !== 'object') return value;
  const before = Object.entries(value);
  const after = before.map(([name, inner]) => [text(name), eraseIn(inner, text)] as const);
  const same = after.every(([name, inner], index) => {
    const [oldName, oldInner] = before[index] as [string, unknown];
    return name === oldName && inner === oldInner;
  });
  return same ? value : Object.fromEntries(after);
}

function htmlEscaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => HTML[sign] ?? sign);
}

const HTML: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function percentEncoded(sign: string): string {
  return `%${sign.charCodeAt(0).toString(16)}`;
}
