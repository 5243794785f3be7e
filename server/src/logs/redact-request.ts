import { REDACTED } from '../templates/content/redact.ts';

/**
 * Prepares what a failed request sent for the request log. Secrets never get into it: values of
 * fields that are named like one, all values of template variables (the template decides which are
 * secret, and the request may not name it correctly), header values, and anything that looks like a
 * key. Where such a value is repeated, in other fields or in the error, it is replaced too. Long
 * values are cut, so that an entry has a few kilobytes. The work is bounded, because a client can
 * make requests fail at will.
 */

export interface SentRequest {
  /** The parsed body; undefined if there was none, or if it was not read. */
  body: unknown;
  bodyBytes: number;
  query: unknown;
  problem: object | undefined;
}

export interface RedactedRequest {
  body: string | null;
  query: string | null;
  problem: string | null;
}

/** Larger bodies are not kept. */
const BODY_BYTES_MAX = 64 * 1024;
const STRING_CHARS_MAX = 500;
const ITEMS_MAX = 20;
const FIELDS_MAX = 50;
const DEPTH_MAX = 8;
/** Of all strings and names of a body, a query or a problem. */
const TOTAL_CHARS_MAX = 12 * 1024;
/** Secrets that are searched for in the other fields. Short ones would make holes in every text. */
const SEARCHED_MAX = 50;
const SEARCHED_CHARS_MIN = 6;
const SEARCHED_CHARS_MAX = 1_000;

const SECRET_NAME =
  /pass(word|phrase|wd|code)?s?$|secret|token|authori[sz]ation|credential|api[-_]?key|private[-_]?key|signature|cookie|^code$|^otp$/i;

/** Template variables and headers, by the names that our API and the compatible ones use. */
const VALUES_NAME = /variables|^[hvt]:|substitutions|template_?(data|model)|headers?$|attributes$/i;

/** API keys, webhook secrets and the keys of other providers, anywhere in a text. */
const KEY_IN_TEXT =
  /\b(?:pr_(?:live|test|operator|ses)_|whsec_|sk_|re_|SG\.|key-)[\w.+/=-]{8,}|\b(?:Bearer|Basic) +[\w.+/=-]{8,}/g;

/** Every address and every key in a path has one of these characters. */
const PART_OF_ADDRESS_OR_KEY = /[@%_.\- ]/;

export function redactRequest(sent: SentRequest): RedactedRequest {
  const { body, bodyBytes, query, problem } = sent;
  const isKept = bodyBytes <= BODY_BYTES_MAX;
  const secrets = new Set<string>();
  if (isKept) collectSecrets(body, false, secrets);
  collectSecrets(query, false, secrets);
  const hasQuery = isObject(query) && Object.keys(query).length > 0;
  const json = (value: unknown, names: 'redact' | 'keep' = 'redact'): string =>
    JSON.stringify(new Shortener(secrets, names).value(value, 0));
  return {
    body: body === undefined ? null : json(isKept ? body : `[${bodyBytes} bytes, not kept]`),
    query: hasQuery ? json(query) : null,
    // Its fields are ours: `code` is not a secret.
    problem: problem === undefined ? null : json(withoutQuote(problem), 'keep'),
  };
}

/** A value for the audit log: shortened, without secrets, and without addresses. */
export function withoutSecrets(value: object): object {
  const secrets = new Set<string>();
  collectSecrets(value, false, secrets);
  const json = JSON.stringify(new Shortener(secrets, 'redact').value(value, 0));
  return JSON.parse(json.replaceAll(ADDRESS_IN_JSON, '[address]')) as object;
}

/** An address within a string of JSON: a backslash begins an escape, which is not part of one. */
const ADDRESS_IN_JSON = /[^\s"\\<>(),;:]{1,64}@[^\s"\\<>(),;:]{1,255}/g;

/** A path for the log: no query, no addresses, and nothing that looks like a key. */
export function redactPath(url: string): string {
  const [path = ''] = url.slice(0, STRING_CHARS_MAX).split('?', 1);
  // Most paths, and the others take several times as long.
  if (!PART_OF_ADDRESS_OR_KEY.test(path)) return path;
  return path.replaceAll(/[^/]*(?:@|%40)[^/]*/gi, '[address]').replaceAll(KEY_IN_TEXT, REDACTED);
}

/** The error of the JSON parser quotes the body, which was not parsed and so cannot be redacted. */
function withoutQuote(problem: object): object {
  const { code, detail } = problem as { code?: unknown; detail?: unknown };
  if (code !== 'malformed_json' || typeof detail !== 'string') return problem;
  return { ...problem, detail: detail.replace(/(Unexpected token).*$/s, '$1.') };
}

function collectSecrets(value: unknown, isSecret: boolean, secrets: Set<string>): void {
  if (secrets.size >= SEARCHED_MAX) return;
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value);
    const isSearched = text.length >= SEARCHED_CHARS_MIN && text.length <= SEARCHED_CHARS_MAX;
    if (isSecret && isSearched) secrets.add(text);
  } else if (isObject(value)) {
    for (const [name, inner] of Object.entries(value)) {
      collectSecrets(inner, isSecret || SECRET_NAME.test(name) || VALUES_NAME.test(name), secrets);
    }
  }
}

/** Copies a value without its secrets and without what is too long. */
class Shortener {
  readonly #secrets: ReadonlySet<string>;
  readonly #redactsByName: boolean;
  #charsLeft = TOTAL_CHARS_MAX;

  constructor(secrets: ReadonlySet<string>, names: 'redact' | 'keep') {
    this.#secrets = secrets;
    this.#redactsByName = names === 'redact';
  }

  value(value: unknown, depth: number): unknown {
    if (this.#charsLeft <= 0 || depth > DEPTH_MAX) return '…';
    if (typeof value === 'string') return this.#text(value);
    this.#charsLeft -= 1;
    if (Array.isArray(value)) {
      const items = value.slice(0, ITEMS_MAX).map((item) => this.value(item, depth + 1));
      return value.length > ITEMS_MAX ? [...items, `… ${value.length - ITEMS_MAX} more`] : items;
    }
    if (!isObject(value)) return value;
    const entries = Object.entries(value);
    const kept = entries
      .slice(0, FIELDS_MAX)
      .map(([name, inner]) => [this.#text(name), this.#field(name, inner, depth)]);
    if (entries.length > FIELDS_MAX) kept.push(['…', `${entries.length - FIELDS_MAX} more`]);
    return Object.fromEntries(kept);
  }

  #field(name: string, value: unknown, depth: number): unknown {
    if (value === null || value === undefined) return value;
    if (!this.#redactsByName) return this.value(value, depth + 1);
    if (SECRET_NAME.test(name)) return REDACTED;
    if (!VALUES_NAME.test(name)) return this.value(value, depth + 1);
    if (!isObject(value) || Array.isArray(value)) return REDACTED;
    // The names of variables and headers are kept, because many errors are about them.
    const names = Object.keys(value).slice(0, FIELDS_MAX);
    return Object.fromEntries(names.map((inner) => [this.#text(inner), REDACTED]));
  }

  #text(text: string): string {
    // A cut must not leave a part of a secret, so it is longer until the secrets are replaced.
    let shown = text.slice(0, STRING_CHARS_MAX + SEARCHED_CHARS_MAX);
    for (const secret of this.#secrets) shown = shown.replaceAll(secret, REDACTED);
    // PostgreSQL cannot read JSON with NUL or lone surrogates, which a rejected body may contain.
    shown = shown.replaceAll(KEY_IN_TEXT, REDACTED).replaceAll('\0', '\ufffd').toWellFormed();
    this.#charsLeft -= Math.min(shown.length, STRING_CHARS_MAX);
    if (text.length <= STRING_CHARS_MAX) return shown;
    return `${shown.slice(0, STRING_CHARS_MAX).toWellFormed()}… [${text.length} characters]`;
  }
}

function isObject(value: unknown): value is object {
  return value !== null && typeof value === 'object';
}
