import { type FieldError, RefusedError } from '../../lib/refused-error.ts';
import type { SendRequest } from '../accept/send-request.ts';

/**
 * Send options that have no place in a mail, given as X-Postrider-* headers. They are removed from
 * the mail, so recipients never see them. Unknown names are rejected, because ignoring one would
 * silently drop the option.
 */
export type ControlHeaders = SendOptions & { idempotencyKey?: string };

export type SendOptions = Pick<
  SendRequest,
  'stream' | 'tags' | 'metadata' | 'scheduled_at' | 'ttl_seconds' | 'tracking'
>;

type HeaderReader = (values: string[], into: ControlHeaders) => string | undefined;

const HEADER_READERS: Record<string, HeaderReader> = {
  'X-Postrider-Stream': single((value, into) => {
    into.stream = value;
    return undefined;
  }),
  'X-Postrider-Tag': (values, into) => {
    into.tags = values.flatMap((value) => value.split(',').map((tag) => tag.trim()));
    return undefined;
  },
  'X-Postrider-Metadata': single((value, into) => {
    const metadata = parseMetadata(value);
    if (!metadata) return 'Must be a JSON object with string values, such as {"order": "42"}.';
    into.metadata = metadata;
    return undefined;
  }),
  'X-Postrider-Idempotency-Key': single((value, into) => {
    if (!/^[!-~]{1,255}$/.test(value)) return 'Must be 1 to 255 visible ASCII characters.';
    into.idempotencyKey = value;
    return undefined;
  }),
  'X-Postrider-Scheduled-At': single((value, into) => {
    into.scheduled_at = value;
    return undefined;
  }),
  'X-Postrider-TTL-Seconds': single((value, into) => {
    if (!/^\d{1,9}$/.test(value)) return 'Must be a whole number of seconds.';
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
      (valid) => valid.toLowerCase() === spelling.toLowerCase(),
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

const UNKNOWN = `Unknown header. Valid headers are ${Object.keys(HEADER_READERS).join(', ')}.`;

function single(read: (value: string, into: ControlHeaders) => string | undefined): HeaderReader {
  return (values, into) =>
    values.length === 1 ? read(values[0] as string, into) : 'This header may appear only once.';
}

function setTracking(
  value: string,
  into: ControlHeaders,
  what: 'opens' | 'clicks',
): string | undefined {
  if (!/^(true|false)$/i.test(value)) return 'Must be true or false.';
  into.tracking = { ...into.tracking, [what]: /^true$/i.test(value) };
  return undefined;
}

/** Rejects text that PostgreSQL cannot store, like the API's body parser does. */
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
