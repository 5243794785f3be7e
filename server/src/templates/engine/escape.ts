import { decodeEntitiesLeniently } from '../../lib/html/entities.ts';
import { escapeHtml, escapeHtmlInAttribute } from '../../lib/html/escape-html.ts';
import type { OutputContext, UrlCheck } from './content-nodes.ts';
import type { RenderState } from './render-state.ts';
import { SafeHtml, toText, type WorkMeter } from './values.ts';

/** Escapes values for their output context, so that they cannot break out of it. */

const HTML_SPECIAL_OR_SURROGATE = /[&<>"'\0\ud800-\udfff]/;

export function escapeForContext(
  context: OutputContext,
  escapeDashes: boolean,
  value: unknown,
  state: RenderState,
  at: number,
): string {
  const plain =
    (context === 'html-text' || context === 'attribute') && !(value instanceof SafeHtml);
  const written = plain
    ? escapeText(toText(value, state), state)
    : escapeValue(context, value, state, at);
  if (!plain) noteUnstorable(written, state);
  return escapeDashes ? written.replaceAll('-', '&#45;') : written;
}

/** The hot path: a single test finds characters to escape and characters that cannot be stored. */
function escapeText(text: string, state: RenderState): string {
  if (!HTML_SPECIAL_OR_SURROGATE.test(text)) return text;
  noteUnstorable(text, state);
  return escapeHtml(text);
}

/** Checked per value, because scanning the whole output, mostly literal text, would take a third of a render. */
function noteUnstorable(text: string, state: RenderState): void {
  if (!text.isWellFormed() || text.includes('\0')) state.budget.outputIsStorable = false;
}

function escapeValue(
  context: OutputContext,
  value: unknown,
  state: RenderState,
  at: number,
): string {
  switch (context) {
    case 'plain':
    case 'raw':
      return toText(value, state);
    case 'html-text':
      return value instanceof SafeHtml ? value.html : escapeHtml(toText(value, state));
    case 'attribute':
      return value instanceof SafeHtml
        ? escapeHtmlInAttribute(value.html)
        : escapeHtml(toText(value, state));
    case 'bare-attribute':
      return escapeUnquoted(toText(value, state));
    case 'url-parameter':
      return value instanceof SafeHtml
        ? escapeHtmlInAttribute(value.html)
        : urlParameter(toText(value, state));
    case 'comment':
      // Spaces on both sides, so that an empty value cannot join adjacent dashes and brackets.
      return ` ${escapeHtml(toText(value, state)).replaceAll('-', '&#45;')} `;
    case 'css':
      return cssValue(toText(value, state), state, at);
    case 'css-string':
      return toText(value, state).replace(/[^\p{L}\p{N} _.,:#%/-]/gu, cssEscape);
    case 'css-url':
      return cssUrl(toText(value, state), state, at);
    case 'css-url-in-attribute':
      return escapeHtml(cssUrl(toText(value, state), state, at));
    case 'json-string':
      return jsonForHtml(toText(value, state), state).slice(1, -1);
    case 'json-value':
      return jsonForHtml(value instanceof SafeHtml ? value.html : (value ?? null), state);
  }
}

/**
 * Encodes a URL parameter; an unencoded `+` or `&` in a token would change its meaning. Existing percent
 * escapes are kept.
 */
function urlParameter(text: string): string {
  return text
    .toWellFormed()
    .replace(/%(?![\da-f]{2})|[^\w.~%-]/giu, (character) =>
      encodeURIComponent(character).replace(/[!'()*]/, percentEncode),
    );
}

function escapeUnquoted(text: string): string {
  return text.replace(/[^\p{L}\p{N}_.:/?#%-]/gu, (character) => `&#${character.codePointAt(0)};`);
}

/** JSON that is safe in HTML: it cannot start a tag or an entity. */
export function jsonForHtml(value: unknown, meter: WorkMeter): string {
  spendOnJson(value, meter);
  const json = JSON.stringify(value) ?? 'null';
  return json.replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Charged before serializing, because a list that repeats a large value could exhaust memory. */
function spendOnJson(value: unknown, meter: WorkMeter): void {
  if (typeof value === 'string') meter.spendOnLength(value.length);
  else if (Array.isArray(value)) {
    meter.spend(value.length);
    for (const item of value) spendOnJson(item, meter);
  } else if (value !== null && typeof value === 'object') {
    for (const [name, inner] of Object.entries(value)) {
      meter.spendOnLength(name.length);
      spendOnJson(inner, meter);
    }
  }
}

const CSS_PLAIN = /^[\p{L}\p{N}\s#%.,+_-]*$/u;
const CSS_COLOR = /^\s*(?:rgb|hsl)a?\([\d\s.,%/+-]*\)\s*$/i;

function cssValue(text: string, state: RenderState, at: number): string {
  if (CSS_PLAIN.test(text) || CSS_COLOR.test(text)) return text;
  state.warn(at, 'unsafe_css', 'The value is not a CSS keyword, number or color and was omitted.');
  return 'unset';
}

function cssEscape(character: string): string {
  return `\\${(character.codePointAt(0) ?? 0xfffd).toString(16)} `;
}

function cssUrl(text: string, state: RenderState, at: number): string {
  if (!isDangerousUrl(text, true)) {
    return text.toWellFormed().replace(/[^\p{L}\p{N}\-._~:/?#[\]@!$&*+,;=%]/gu, percentEncode);
  }
  state.warn(at, 'unsafe_url', DANGEROUS_URL);
  return '#';
}

function percentEncode(character: string): string {
  const code = character.charCodeAt(0);
  if (code > 0x7f) return encodeURIComponent(character);
  return `%${code.toString(16).toUpperCase().padStart(2, '0')}`;
}

export const DANGEROUS_URL =
  'A value turned this URL into one that runs a script, so it was replaced with `#`.';

/**
 * Checks the complete attribute, whichever parts came from the author or from values, so that `java` +
 * `script:` is caught as well.
 */
export function isDangerousAttribute(html: string, check: UrlCheck): boolean {
  switch (check) {
    case 'link':
      return isDangerousUrl(decodeStart(html), false);
    case 'image':
      return isDangerousUrl(decodeStart(html), true);
    case 'srcset':
      return html.split(',').some((candidate) => isDangerousUrl(decodeStart(candidate), true));
    case 'refresh': {
      const content = decodeEntitiesLeniently(html);
      const target = /url\s*=\s*['"]?/i.exec(content);
      return (
        target !== null && isDangerousUrl(content.slice(target.index + target[0].length), false)
      );
    }
  }
}

const SCHEME = /^(?:javascript|vbscript|jscript|livescript|mocha|mhtml|data)$/;
const IMAGE_DATA = /^image\/(?:png|gif|jpe?g|webp|avif|bmp|x-icon|svg\+xml)[;,]/i;

/** Browsers skip controls and ASCII whitespace (WHATWG URL 4.4), email clients even more; all are removed. */
const SKIPPED_IN_SCHEME = /[\p{Cc}\p{Cf}\p{Z}\ufffd]/gu;
const SCHEME_END = /[:/?#]/;

function isDangerousUrl(url: string, image: boolean): boolean {
  const end = url.search(SCHEME_END);
  if (end === -1 || url[end] !== ':') return false;
  const scheme = url.slice(0, end).replace(SKIPPED_IN_SCHEME, '').toLowerCase();
  if (!SCHEME.test(scheme)) return false;
  return !(scheme === 'data' && image && IMAGE_DATA.test(url.slice(end + 1, end + 40).trimStart()));
}

/**
 * Only the start of a URL matters, so a long one is not decoded completely unless it starts with that
 * much whitespace. The last characters of the slice are ignored because they may be a partial entity.
 */
function decodeStart(html: string): string {
  if (html.length <= 512) return decodeEntitiesLeniently(html);
  const start = decodeEntitiesLeniently(html.slice(0, 512));
  return SCHEME_END.test(start.slice(0, -16)) ? start : decodeEntitiesLeniently(html);
}

/** A header is a single line, so every line break or control character becomes a space (RFC 5322 section 2.2). */
export function headerText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes.
  if (!/[\u0000-\u001f\u007f-\u009f\u2028\u2029\ud800-\udfff]/.test(text)) return text;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this removes.
  return text.toWellFormed().replace(/\r\n|[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, ' ');
}

/** Filters that decode or slice can produce NUL and unpaired surrogates, which PostgreSQL rejects. */
export function toStorableText(text: string): string {
  const whole = text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole;
}
