import { RefusedError } from '../lib/refused-error.ts';

/**
 * Quotas of a workspace: what the operator allows it. Periods are calendar hours, days and months in
 * UTC, so that the reset is known in advance and usage can be recounted.
 */

export const MESSAGE_QUOTAS = [
  'messages_per_hour',
  'messages_per_day',
  'messages_per_month',
] as const;

export type MessageQuota = (typeof MESSAGE_QUOTAS)[number];

/** Null: no limit. */
export interface Quotas extends Record<MessageQuota, number | null> {
  recipients_per_message: number | null;
  contacts: number | null;
  content_bytes: number | null;
  requests_per_second: number | null;
  warn_at_percent: number;
}

export const WARN_AT_PERCENT_DEFAULT = 80;

export const NO_QUOTAS: Quotas = {
  messages_per_hour: null,
  messages_per_day: null,
  messages_per_month: null,
  recipients_per_message: null,
  contacts: null,
  content_bytes: null,
  requests_per_second: null,
  warn_at_percent: WARN_AT_PERCENT_DEFAULT,
};

export interface Period {
  startMs: number;
  endMs: number;
}

export const HOUR_MS = 3_600_000;

/** The period of a quota that contains a time. */
export function periodOf(quota: MessageQuota, nowMs: number): Period {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  switch (quota) {
    case 'messages_per_hour': {
      const startMs = Math.floor(nowMs / HOUR_MS) * HOUR_MS;
      return { startMs, endMs: startMs + HOUR_MS };
    }
    case 'messages_per_day':
      return { startMs: Date.UTC(year, month, day), endMs: Date.UTC(year, month, day + 1) };
    case 'messages_per_month':
      return { startMs: Date.UTC(year, month), endMs: Date.UTC(year, month + 1) };
  }
}

/** What is used of each quota of messages in its present period. */
export type MessageUsage = Record<MessageQuota, number>;

/** More would let one node hold much of a small quota; fewer would cost a query too often. */
const CHUNK_MAX = 1_000;
const CHUNK_SHARE = 1 / 100;

/** How many messages a node leases at once: a hundredth of the smallest quota. */
export function chunkOf(quotas: Record<MessageQuota, number | null>): number {
  const smallest = Math.min(...MESSAGE_QUOTAS.map((name) => quotas[name] ?? Infinity));
  return Math.max(1, Math.min(CHUNK_MAX, Math.floor(smallest * CHUNK_SHARE)));
}

/** How many messages are left in all quotas together. Infinity without any. */
export function leftOf(quotas: Record<MessageQuota, number | null>, usage: MessageUsage): number {
  const left = MESSAGE_QUOTAS.map((name) => (quotas[name] ?? Infinity) - usage[name]);
  return Math.max(0, Math.min(...left));
}

/**
 * The quota that refuses a number of messages. Of several, the one that is reset last: until then, each
 * of them refuses.
 */
export function exhaustedQuota(
  quotas: Record<MessageQuota, number | null>,
  usage: MessageUsage,
  messages: number,
): MessageQuota | undefined {
  return MESSAGE_QUOTAS.findLast((name) => {
    const limit = quotas[name];
    return limit !== null && usage[name] + messages > limit;
  });
}

/** Whether a warning is due: the share was reached. */
export function isWarningDue(limit: number, used: number, warnAtPercent: number): boolean {
  return used * 100 >= limit * warnAtPercent;
}

const PERIOD_NAMES: Record<MessageQuota, string> = {
  messages_per_hour: 'hour',
  messages_per_day: 'day',
  messages_per_month: 'month',
};

export function messageQuotaExceeded(
  quota: MessageQuota,
  limit: number,
  nowMs: number,
): RefusedError {
  const { endMs } = periodOf(quota, nowMs);
  const resetsAt = new Date(endMs).toISOString();
  const detail = `This workspace can send ${plural(limit, 'live message')} per ${PERIOD_NAMES[quota]}. The quota is reset at ${resetsAt}.`;
  return new RefusedError('quota_exceeded', detail, {
    retryAfterSeconds: Math.max(1, Math.ceil((endMs - nowMs) / 1000)),
    quota: { name: quota, resetsAt },
  });
}

export function contactQuotaExceeded(limit: number): RefusedError {
  const detail = `This workspace can have ${plural(limit, 'live contact')}.`;
  return new RefusedError('quota_exceeded', detail, {
    fix: 'Delete contacts, or contact the operator.',
    quota: { name: 'contacts', resetsAt: null },
  });
}

export function contentQuotaExceeded(limit: number): RefusedError {
  const detail = `This workspace can keep ${plural(limit, 'byte')} of content.`;
  return new RefusedError('quota_exceeded', detail, {
    fix: 'Wait until older content is deleted, or contact the operator.',
    quota: { name: 'content_bytes', resetsAt: null },
  });
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
