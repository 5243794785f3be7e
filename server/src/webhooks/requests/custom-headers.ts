import type { FieldError } from '../../lib/refused-error.ts';

/**
 * Custom headers that an endpoint's owner adds to every request, for instance a gateway token.
 * Values are never shown again: read access to endpoints must not allow impersonating us.
 */
export type CustomHeaders = Record<string, string>;

/** A change: a value sets a header, null removes it, unnamed headers stay. */
export type HeaderChange = Record<string, string | null>;

const HEADERS_MAX = 20;
const VALUE_LENGTH_MAX = 2048;
const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const VALUE = /^[\t\x20-\x7e]*$/;

/** Headers that we set, or that change how the request is parsed on its way. */
const RESERVED =
  /^(host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|user-agent|content-.*|proxy-.*|webhook-.*|svix-.*|x-twilio-email-event-webhook-.*|x-amz-sns-.*)$/i;

export function changeHeaders(
  before: CustomHeaders,
  change: HeaderChange,
): { headers: CustomHeaders; errors: FieldError[] } {
  const headers = new Map(
    Object.entries(before).map(([name, value]) => [name.toLowerCase(), { name, value }]),
  );
  const errors: FieldError[] = [];
  for (const [name, value] of Object.entries(change)) {
    const detail = value === null ? undefined : headerError(name, value);
    if (detail !== undefined) {
      const pointer = `/headers/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      errors.push({ pointer, code: 'invalid_header', detail });
    } else if (value === null) headers.delete(name.toLowerCase());
    else headers.set(name.toLowerCase(), { name, value: value.trim() });
  }
  if (headers.size > HEADERS_MAX) {
    const detail = `At most ${HEADERS_MAX} headers are allowed.`;
    errors.push({ pointer: '/headers', code: 'too_many', detail });
  }
  const changed = [...headers.values()].map(({ name, value }) => [name, value]);
  return { headers: Object.fromEntries(changed), errors };
}

/** For the attempt log and API responses. */
export function redactHeaders(headers: CustomHeaders): CustomHeaders {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, '[hidden]']));
}

function headerError(name: string, value: string): string | undefined {
  if (!NAME.test(name)) return 'Not a valid header name.';
  if (RESERVED.test(name)) return 'This header is reserved.';
  if (!VALUE.test(value) || value.length > VALUE_LENGTH_MAX) {
    return `Values may have at most ${VALUE_LENGTH_MAX} printable ASCII characters.`;
  }
  return undefined;
}
