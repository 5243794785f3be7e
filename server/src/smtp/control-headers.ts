import { type FieldError, RefusedError } from '../lib/refused-error.ts';
import type { SendRequest } from '../messages/send-request.ts';

/**
 * The fields of a send that a mail has no place for, as headers. They are taken out of the mail:
 * recipients never see them. A name that is not known is a mistake worth telling, since what it was
 * meant to do would not be done.
 */
export type Control = Pick<
  SendRequest,
  'tags' | 'metadata' | 'scheduled_at' | 'ttl_seconds' | 'tracking'
> & { idempotencyKey?: string };

type Reader = (values: string[], into: Control) => string | undefined;

const NAMES: Record<string, Reader> = {
  'X-Postrider-Tag': (values, into) => {
    into.tags = values.flatMap((value) => value.split(',').map((tag) => tag.trim()));
    return undefined;
  },
  'X-Postrider-Metadata': once((value, into) => {
    const metadata = jsonObject(value);
    if (!metadata) return 'Give a JSON object of texts, such as {"order": "42"}.';
    into.metadata = metadata;
    return undefined;
  }),
  'X-Postrider-Idempotency-Key': once((value, into) => {
    if (!/^[!-~]{1,255}$/.test(value)) return 'Takes 1 to 255 visible ASCII characters.';
    into.idempotencyKey = value;
    return undefined;
  }),
  'X-Postrider-Scheduled-At': once((value, into) => {
    into.scheduled_at = value;
    return undefined;
  }),
  'X-Postrider-TTL-Seconds': once((value, into) => {
    if (!/^\d{1,9}$/.test(value)) return 'Give a whole number of seconds.';
    into.ttl_seconds = Number(value);
    return undefined;
  }),
  'X-Postrider-Track-Opens': once((value, into) => track(value, into, 'opens')),
  'X-Postrider-Track-Clicks': once((value, into) => track(value, into, 'clicks')),
};

export function readControls(headers: readonly (readonly [string, string])[]): Control {
  const control: Control = {};
  const errors: FieldError[] = [];
  const byName = Map.groupBy(headers, ([name]) => name.toLowerCase());
  for (const given of byName.values()) {
    const [written] = given[0] as readonly [string, string];
    const name = Object.keys(NAMES).find((known) => known.toLowerCase() === written.toLowerCase());
    const values = given.map(([, value]) => value);
    const fault = name === undefined ? UNKNOWN : NAMES[name]?.(values, control);
    if (fault) errors.push({ parameter: name ?? written, code: 'invalid_value', detail: fault });
  }
  const [first] = errors;
  if (!first) return control;
  throw new RefusedError('validation_failed', `${first.parameter}: ${first.detail}`, { errors });
}

const UNKNOWN = `There is no such header. There are ${Object.keys(NAMES).join(', ')}.`;

function once(read: (value: string, into: Control) => string | undefined): Reader {
  return (values, into) =>
    values.length === 1 ? read(values[0] as string, into) : 'Give this header once.';
}

function track(value: string, into: Control, what: 'opens' | 'clicks'): string | undefined {
  if (!/^(true|false)$/i.test(value)) return 'Give true or false.';
  into.tracking = { ...into.tracking, [what]: /^true$/i.test(value) };
  return undefined;
}

/** The API's body parser refuses what the database cannot hold; this is its like. */
function jsonObject(value: string): Record<string, string> | undefined {
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
