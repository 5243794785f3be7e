import { uuidFloor } from '../base/ids.ts';
import { parseMailbox } from '../mail/address.ts';
import type { Pool } from '../storage/pool.ts';
import { messageStatus } from './message-status.ts';
import {
  findMessages,
  type MessageFilter,
  type Scope,
  type StoredMessage,
  scanMessages,
} from './message-store.ts';
import type { MessageStatus } from './send-request.ts';

/**
 * The list of messages, newest first. Without a filter, or by recipient, an index leads straight to
 * the rows. Other filters are applied while walking back through time, and one request walks only so
 * far: a page may then be short, or even empty, and still have a cursor to go on from.
 */

export interface MessageQuery {
  status?: MessageStatus;
  recipient?: string;
  tag?: string;
  templateKey?: string;
  metadata?: Record<string, string>;
  createdAfterMs?: number;
  createdBeforeMs?: number;
  text?: string;
}

const SCAN_STEP = 500;
const SCANNED_MAX = 10_000;
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

export async function listMessages(
  pool: Pool,
  scope: Scope,
  query: MessageQuery,
  page: { beforeId: string | undefined; limit: number },
): Promise<{ messages: StoredMessage[]; nextBeforeId: string | null }> {
  const filter = filterOf(query);
  const sinceId = uuidFloor(query.createdAfterMs ?? 0);
  let beforeId = earlier(page.beforeId ?? LAST_UUID, query.createdBeforeMs);
  const found: string[] = [];
  const scanMax = isUnfiltered(query) ? page.limit + 1 : SCAN_STEP;
  for (let scanned = 0; scanned < SCANNED_MAX; ) {
    const step = await scanMessages(pool, scope, filter, { beforeId, sinceId, scanMax });
    for (const match of step.matches) {
      if (query.status !== undefined && messageStatus(match.statuses) !== query.status) continue;
      if (found.length === page.limit) return answer(found[found.length - 1] as string);
      found.push(match.id);
    }
    if (step.scanned < scanMax) return answer(null);
    beforeId = step.lastId as string;
    scanned += step.scanned;
  }
  return answer(beforeId);

  async function answer(nextBeforeId: string | null) {
    return { messages: await findMessages(pool, scope, found), nextBeforeId };
  }
}

function filterOf(query: MessageQuery): MessageFilter {
  const filter: MessageFilter = {};
  if (query.recipient !== undefined) {
    const parsed = parseMailbox(query.recipient);
    filter.recipientKey = parsed.ok ? parsed.mailbox.key : query.recipient.toLowerCase();
  }
  if (query.tag !== undefined) filter.tag = query.tag;
  if (query.templateKey !== undefined) filter.templateKey = query.templateKey;
  if (query.metadata !== undefined) filter.metadata = query.metadata;
  const words = query.text?.toLowerCase().split(/\s+/).filter(Boolean) ?? [];
  if (words.length > 0) filter.words = words;
  return filter;
}

function isUnfiltered(query: MessageQuery): boolean {
  const {
    createdAfterMs: _after,
    createdBeforeMs: _before,
    recipient: _recipient,
    ...others
  } = query;
  return Object.values(others).every((value) => value === undefined);
}

function earlier(beforeId: string, createdBeforeMs: number | undefined): string {
  if (createdBeforeMs === undefined) return beforeId;
  const floor = uuidFloor(createdBeforeMs);
  return floor < beforeId ? floor : beforeId;
}
