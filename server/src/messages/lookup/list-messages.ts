import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { searchTerms } from '../../db/statements/text-search.ts';
import { decodeId, LAST_UUID, uuidFloor } from '../../lib/ids.ts';
import { mailboxProvider } from '../../mail/policy/mailbox-provider.ts';
import type { MessageStatus } from '../message-status.ts';
import { messageStatus } from '../message-status.ts';
import { addressDomain } from '../queue-shard.ts';
import {
  findMessages,
  type MessageFilter,
  type ScannedMessage,
  type StoredMessage,
  scanMessages,
} from './message-store.ts';

/**
 * Lists messages, newest first. Without a filter, or by recipient, an index finds the rows
 * directly. Other filters scan backwards in time, and one request scans a bounded number of rows: a
 * page may be short or even empty and still have a cursor. The status and the receiving provider
 * are not columns, so they are filtered here.
 */

export interface MessageQuery
  extends Omit<MessageFilter, 'searchTerms' | 'includeReceivers' | 'deliveryStatus'> {
  status?: MessageStatus;
  /** A name returned by `mailboxProvider`. */
  provider?: string;
  createdAfterMs?: number;
  createdBeforeMs?: number;
  text?: string;
}

const SCAN_STEP = 500;
const SCANNED_MAX = 10_000;

export async function listMessages(
  pool: Pool,
  scope: TenantScope,
  query: MessageQuery,
  page: { beforeId: string | undefined; limit: number },
): Promise<{ messages: StoredMessage[]; nextBeforeId: string | null }> {
  const filter = toFilter(query);
  const generated = generatedId(query.headerMessageId);
  if (generated !== undefined) return await listGenerated(generated);
  const sinceId = uuidFloor(query.createdAfterMs ?? 0);
  let beforeId = earlierId(page.beforeId ?? LAST_UUID, query.createdBeforeMs);
  const found: string[] = [];
  const scanMax = isUnfiltered(query) ? page.limit + 1 : SCAN_STEP;
  const filteredHere = query.status !== undefined || query.provider !== undefined;
  for (let scanned = 0; scanned < SCANNED_MAX; ) {
    const matchesMax = filteredHere ? scanMax : page.limit - found.length + 1;
    const bounds = { beforeId, sinceId, scanMax, matchesMax };
    const step = await scanMessages(pool, scope, filter, bounds);
    for (const match of step.matches) {
      if (!matchesQuery(match, query)) continue;
      if (found.length === page.limit) return toPage(found[found.length - 1] as string);
      found.push(match.id);
    }
    if (step.scanned < scanMax) return toPage(null);
    beforeId = step.lastId as string;
    scanned += step.scanned;
  }
  return toPage(beforeId);

  /** A generated Message-ID contains the id of its message. */
  async function listGenerated({ id, domain }: { id: string; domain: string }) {
    const found = await findMessages(pool, scope, [id]);
    const messages = found.filter(
      (one) => one.headerMessageId === null && addressDomain(one.sender) === domain,
    );
    return { messages, nextBeforeId: null };
  }

  async function toPage(nextBeforeId: string | null) {
    return { messages: await findMessages(pool, scope, found), nextBeforeId };
  }
}

function generatedId(messageId = ''): { id: string; domain: string } | undefined {
  const [, publicId = '', domain = ''] = /^(msg_[0-9a-z]{26})@(.+)$/.exec(messageId) ?? [];
  const id = decodeId('msg', publicId);
  return id === undefined ? undefined : { id, domain };
}

function toFilter(query: MessageQuery): MessageFilter {
  const { status, provider, createdAfterMs: _after, createdBeforeMs: _before, ...own } = query;
  const { text, ...filter } = own;
  const terms = searchTerms(text);
  return {
    ...filter,
    ...(terms === null ? {} : { searchTerms: terms }),
    ...(provider === undefined ? {} : { includeReceivers: true }),
    // A message that is not partial has the status of one of its recipients.
    ...(status === undefined || status === 'partial' ? {} : { deliveryStatus: status }),
  };
}

function matchesQuery(
  { statuses, receivers }: ScannedMessage,
  { status, provider }: MessageQuery,
): boolean {
  if (status !== undefined && messageStatus(statuses) !== status) return false;
  if (provider === undefined) return true;
  return receivers.some(({ recipient, mx }) => mailboxProvider(recipient, mx) === provider);
}

/** Whether an index finds the messages directly. */
export function isUnfiltered(query: MessageQuery): boolean {
  const {
    createdAfterMs: _after,
    createdBeforeMs: _before,
    recipientKey: _recipient,
    headerMessageId: _messageId,
    ...others
  } = query;
  return Object.values(others).every((value) => value === undefined);
}

function earlierId(beforeId: string, createdBeforeMs: number | undefined): string {
  if (createdBeforeMs === undefined) return beforeId;
  const floor = uuidFloor(createdBeforeMs);
  return floor < beforeId ? floor : beforeId;
}
