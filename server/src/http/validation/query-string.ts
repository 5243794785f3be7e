import { parse } from 'node:querystring';

/**
 * Parses the query of a URL. A `%` that begins no encoded byte stands for itself, as in forms. Text that
 * is not UTF-8 cannot be decoded; it ends with a lone surrogate, which no decoded text contains, so that
 * validation can name its parameter.
 */
export function parseQuery(query: string): Record<string, unknown> {
  return parse(query, '&', '=', { maxKeys: 0, decodeURIComponent: decodeText });
}

const UNDECODABLE = '\ud800';

export function isUndecodable(text: string): boolean {
  return text.endsWith(UNDECODABLE);
}

/** The text as it was sent, for error messages. */
export function asSent(text: string): string {
  return isUndecodable(text) ? text.slice(0, -UNDECODABLE.length) : text;
}

function decodeText(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text.replaceAll(/%(?![0-9a-f]{2})/gi, '%25'));
  } catch {
    return text + UNDECODABLE;
  }
}
