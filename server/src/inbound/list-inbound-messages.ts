import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { searchPatterns } from '../db/statements/text-search.ts';
import { LAST_UUID, uuidFloor } from '../lib/ids.ts';
import type { InboundMessage } from './inbound-message.ts';
import { type InboundFilter, scanInboundMessages } from './inbound-message-store.ts';

/**
 * Lists inbound messages, newest first. Without a filter, by address, or by the message that they
 * answer, an index finds the rows. Other filters scan backwards in time, and one request scans a bounded
 * number of rows: a page may be short or even empty and still have a cursor.
 */
export interface InboundQuery extends Omit<InboundFilter, 'searchPatterns'> {
  receivedAfterMs?: number;
  receivedBeforeMs?: number;
  text?: string;
}

const SCAN_STEP = 500;
const SCANNED_MAX = 10_000;

export async function listInboundMessages(
  pool: Pool,
  scope: TenantScope,
  { receivedAfterMs, receivedBeforeMs, text, ...filter }: InboundQuery,
  page: { beforeId: string | undefined; limit: number },
): Promise<{ messages: InboundMessage[]; nextBeforeId: string | null }> {
  const patterns = searchPatterns(text);
  const full = { ...filter, ...(patterns === null ? {} : { searchPatterns: patterns }) };
  const sinceId = uuidFloor(receivedAfterMs ?? 0);
  let beforeId = earlierId(page.beforeId ?? LAST_UUID, receivedBeforeMs);
  const found: InboundMessage[] = [];
  const scanMax = isIndexed(full) ? page.limit + 1 : SCAN_STEP;
  for (let scanned = 0; scanned < SCANNED_MAX; ) {
    const matchesMax = page.limit - found.length + 1;
    const bounds = { beforeId, sinceId, scanMax, matchesMax };
    const step = await scanInboundMessages(pool, scope, full, bounds);
    found.push(...step.messages);
    if (found.length > page.limit) {
      const messages = found.slice(0, page.limit);
      return { messages, nextBeforeId: messages.at(-1)?.id ?? null };
    }
    if (step.scanned < scanMax || step.lastId === null)
      return { messages: found, nextBeforeId: null };
    beforeId = step.lastId;
    scanned += step.scanned;
  }
  return { messages: found, nextBeforeId: beforeId };
}

/** Whether every message that is scanned matches. */
function isIndexed(filter: InboundFilter): boolean {
  const { senderKey, recipientKey, inReplyToMessageId, ...others } = filter;
  const keys = [senderKey, recipientKey, inReplyToMessageId].filter((key) => key !== undefined);
  return keys.length <= 1 && Object.values(others).every((value) => value === undefined);
}

function earlierId(beforeId: string, receivedBeforeMs: number | undefined): string {
  if (receivedBeforeMs === undefined) return beforeId;
  const floor = uuidFloor(receivedBeforeMs);
  return floor < beforeId ? floor : beforeId;
}
