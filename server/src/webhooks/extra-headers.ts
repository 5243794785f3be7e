import type { FieldError } from '../lib/refused-error.ts';

/**
 * Headers that an endpoint's owner adds to every request, a token for a gateway for instance. Values
 * are shown to nobody again: whoever may read endpoints need not be able to act as us.
 */
export type ExtraHeaders = Record<string, string>;

/** A change: a value sets a header, null removes it, what is not named stays. */
export type HeaderChange = Record<string, string | null>;

const HEADERS_MAX = 20;
const VALUE_LENGTH_MAX = 2048;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const VALUE = /^[\t\x20-\x7e]*$/;

/** What is ours to say, or would change how the request is read on its way. */
const RESERVED =
  /^(host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|user-agent|content-.*|proxy-.*|webhook-.*)$/i;

export function changeHeaders(
  before: ExtraHeaders,
  change: HeaderChange,
): { headers: ExtraHeaders; errors: FieldError[] } {
  const headers = new Map(
    Object.entries(before).map(([name, value]) => [name.toLowerCase(), { name, value }]),
  );
  const errors: FieldError[] = [];
  for (const [name, value] of Object.entries(change)) {
    const detail = value === null ? undefined : mistakeOf(name, value);
    if (detail !== undefined) {
      const pointer = `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      errors.push({ pointer, code: 'invalid_header', detail });
    } else if (value === null) headers.delete(name.toLowerCase());
    else headers.set(name.toLowerCase(), { name, value: value.trim() });
  }
  if (headers.size > HEADERS_MAX) {
    const detail = `Takes at most ${HEADERS_MAX}.`;
    errors.push({ pointer: '/headers', code: 'too_many', detail });
  }
  const changed = [...headers.values()].map(({ name, value }) => [name, value]);
  return { headers: Object.fromEntries(changed), errors };
}

/** For the log of tries and for API answers. */
export function hiddenHeaders(headers: ExtraHeaders): ExtraHeaders {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, '[hidden]']));
}

function mistakeOf(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'This is not the name of a header.';
  if (RESERVED.test(name)) return 'This header is set by us, or changes how requests are read.';
  if (!VALUE.test(value) || value.length > VALUE_LENGTH_MAX) {
    return `A value is at most ${VALUE_LENGTH_MAX} visible ASCII characters.`;
  }
  return undefined;
}
