import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { SendRequest } from '../../messages/accept/send-request.ts';

/**
 * The fields of a send that a mail has no place for, as headers. They are taken out of the mail:
 * recipients never see them. A name that is not known is a mistake worth telling, since what it was
 * meant to do would not be done.
 */
export type ControlHeaders = Pick<
  SendRequest,
  'tags' | 'metadata' | 'scheduled_at' | 'ttl_seconds' | 'tracking'
> & { idempotencyKey?: string };

type HeaderReader = (values: string[], into: ControlHeaders) => string | undefined;

const HEADER_READERS: Record<string, HeaderReader> = {
  'X-Postrider-Tag': (values, into) => {
    into.tags = values.flatMap((value) => value.split(',').map((tag) => tag.trim()));
    return undefined;
  },
  'X-Postrider-Metadata': single((value, into) => {
    const metadata = parseMetadata(value);
    if (!metadata) return 'Give a JSON object of texts, such as {"order": "42"}.';
    into.metadata = metadata;
    return undefined;
  }),
  'X-Postrider-Idempotency-Key': single((value, into) => {
    if (!/^[!-~]{1,255}$/.test(value)) return 'Takes 1 to 255 visible ASCII characters.';
    into.idempotencyKey = value;
    return undefined;
  }),
  'X-Postrider-Scheduled-At': single((value, into) => {
    into.scheduled_at = value;
    return undefined;
  }),
  'X-Postrider-TTL-Seconds': single((value, into) => {
    if (!/^\d{1,9}$/.test(value)) return 'Give a whole number of seconds.';
    into.ttl_seconds = Number(value);
    return undefined;
  }),
  'X-Postrider-Track-Opens': single((value, into) => setTracking(value, into, 'opens')),
  'X-Postrider-Track-Clicks': single((value, into) => setTracking(value, into, 'clicks')),
};

export function parseControlHeaders(
  headers: readonly (readonly [string, string])[],
): ControlHeaders {
  const control: ControlHeaders = {};
  const errors: FieldError[] = [];
  const byName = Map.groupBy(headers, ([name]) => name.toLowerCase());
  for (const occurrences of byName.values()) {
    const [spelling] = occurrences[0] as readonly [string, string];
    const name = Object.keys(HEADER_READERS).find(
      (known) => known.toLowerCase() === spelling.toLowerCase(),
    );
    const values = occurrences.map(([, value]) => value);
    const problem = name === undefined ? UNKNOWN : HEADER_READERS[name]?.(values, control);
    if (problem)
      errors.push({ parameter: name ?? spelling, code: 'invalid_value', detail: problem });
  }
  const [first] = errors;
  if (!first) return control;
  throw new RefusedError('validation_failed', `${first.parameter}: ${first.detail}`, { errors });
}

const UNKNOWN = `There is no such header. There are ${Object.keys(HEADER_READERS).join(', ')}.`;

function single(read: (value: string, into: ControlHeaders) => string | undefined): HeaderReader {
  return (values, into) =>
    values.length === 1 ? read(values[0] as string, into) : 'Give this header once.';
}

function setTracking(
  value: string,
  into: ControlHeaders,
  what: 'opens' | 'clicks',
): string | undefined {
  if (!/^(true|false)$/i.test(value)) return 'Give true or false.';
  into.tracking = { ...into.tracking, [what]: /^true$/i.test(value) };
  return undefined;
}

/** The API's body parser refuses what the database cannot hold; this is its like. */
function parseMetadata(value: string): Record<string, string> | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch {
    return undefined;
  }
  if (parsed === null || typeof parsed !== 'object' || Array.isArray(parsed)) return undefined;
  const pairs = Object.entries(parsed);
  const isText = (text: unknown): boolean =>
    typeof text === 'string' && !text.includes('\0') && text.isWellFormed();
  const good = pairs.every(([key, text]) => key !== '__proto__' && isText(key) && isText(text));
  return good ? (Object.fromEntries(pairs) as Record<string, string>) : undefined;
}
