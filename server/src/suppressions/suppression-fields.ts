import type { FieldError } from '../lib/refused-error.ts';
import { parseTime } from '../lib/time/rfc3339.ts';
import { parseMailbox } from '../mail/address.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import { EVERYWHERE, type Suppression, type SuppressionReason } from './suppression-store.ts';

/** Parses the fields of a suppression as the API takes them. */

export interface NewSuppression {
  email?: string;
  domain?: string;
  /** Null or absent: in all streams. */
  stream?: string | null;
  reason?: SuppressionReason;
  note?: string | null;
  expires_at?: string | null;
}

/** Only the given fields; the others stay as they are. */
export type SuppressionChange = Partial<Pick<Suppression, 'reason' | 'note' | 'expiresAtMs'>>;

interface InvalidSuppression {
  ok: false;
  errors: [FieldError, ...FieldError[]];
}

interface ParsedSuppression {
  ok: true;
  key: string;
  stream: string;
  email: string | null;
  domain: string | null;
  change: SuppressionChange;
}

export function parseSuppression(
  given: NewSuppression,
  nowMs: number,
): ParsedSuppression | InvalidSuppression {
  const target = parseTarget(given);
  const parsed = parseChange(given, nowMs);
  if ('code' in target) {
    return { ok: false, errors: [target, ...(parsed.ok ? [] : parsed.errors)] };
  }
  const stream = given.stream ?? EVERYWHERE;
  return parsed.ok ? { ok: true, ...target, stream, change: parsed.change } : parsed;
}

export function parseChange(
  given: Pick<NewSuppression, 'reason' | 'note' | 'expires_at'>,
  nowMs: number,
): { ok: true; change: SuppressionChange } | InvalidSuppression {
  const change: SuppressionChange = {};
  if (given.reason !== undefined) change.reason = given.reason;
  if (given.note !== undefined) change.note = given.note;
  if (given.expires_at === undefined) return { ok: true, change };
  if (given.expires_at === null) return { ok: true, change: { ...change, expiresAtMs: null } };
  const expiresAtMs = parseTime(given.expires_at) ?? nowMs;
  if (expiresAtMs > nowMs) return { ok: true, change: { ...change, expiresAtMs } };
  const detail = 'Use a future time in RFC 3339 format with an offset.';
  return { ok: false, errors: [{ pointer: '/expires_at', code: 'invalid_time', detail }] };
}

function parseTarget(
  given: NewSuppression,
): Pick<ParsedSuppression, 'key' | 'email' | 'domain'> | FieldError {
  if (given.email !== undefined && given.domain !== undefined) {
    const detail = 'Use either email or domain, not both.';
    return { pointer: '/domain', code: 'conflicting_field', detail };
  }
  if (given.domain !== undefined) {
    const parsed = parseDomainName(given.domain);
    if (!parsed.ok) return { pointer: '/domain', code: 'invalid_domain', detail: parsed.detail };
    return { key: `@${parsed.domain}`, email: null, domain: parsed.domain };
  }
  if (given.email === undefined) {
    return { pointer: '/email', code: 'required', detail: 'Either email or domain is required.' };
  }
  const parsed = parseMailbox(given.email);
  if (!parsed.ok) return { pointer: '/email', code: 'invalid_email', detail: parsed.detail };
  return { key: parsed.mailbox.key, email: parsed.mailbox.email, domain: null };
}
