import type { TenantScope } from '../accounts/tenant-scope.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { InboundMessagesRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { containsTerms } from '../db/statements/text-search.ts';
import { appendEvents } from '../events/events-store.ts';
import { IDS_AHEAD_MAX_MS, uuidFloor, uuidRange } from '../lib/ids.ts';
import type { InboundMessage, NewInboundMessage } from './inbound-message.ts';
import { publicInboundMessage } from './public-inbound-message.ts';

/** Inbound messages with their addresses and contents. */

const MESSAGE = selectList<InboundMessagesRow, InboundMessage>(
  {
    id: 'id',
    mode: 'mode',
    receivedAtMs: 'received_at',
    domain: 'domain',
    mailFrom: 'mail_from',
    recipients: 'recipients',
    sender: 'sender',
    senderName: 'sender_name',
    subject: 'subject',
    headerMessageId: 'header_message_id',
    inReplyToMessageId: 'in_reply_to_message_id',
    sizeBytes: 'size',
    details: 'details',
  },
  'm',
);

/** For how long the same transmission is recognized. Senders retry within minutes or hours. */
const RETRANSMITTED_MS = 86_400_000;

/**
 * Stores the message and its event in the caller's transaction. Returns false, and stores nothing, if the
 * same transmission has been stored within a day: its sender did not get our reply. The lock makes a
 * retransmission wait that arrives while the first one is being committed.
 */
export async function insertInboundMessage(
  db: Queryable,
  message: NewInboundMessage,
): Promise<boolean> {
  const { workspaceId, fingerprint } = message;
  await lockForTransaction(db, 'inbound', `${workspaceId}/${fingerprint.toString('hex')}`);
  if (await isStored(db, message)) return false;
  await insertRows(db, message);
  await appendEvents(db, [
    {
      workspaceId,
      mode: message.mode,
      type: 'inbound_message.received',
      atMs: message.receivedAtMs,
      data: publicInboundMessage(message),
    },
  ]);
  return true;
}

async function isStored(db: Queryable, message: NewInboundMessage): Promise<boolean> {
  const { workspaceId, mode, fingerprint, receivedAtMs } = message;
  const { rows } = await db.query({
    name: 'find-inbound-fingerprint',
    // The range spares the other partitions.
    text: `select from inbound_messages
      where workspace_id = $1 and mode = $2 and fingerprint = $3 and id >= $4 and id < $5 limit 1`,
    values: [
      workspaceId,
      mode,
      fingerprint,
      uuidFloor(receivedAtMs - RETRANSMITTED_MS),
      uuidFloor(receivedAtMs + IDS_AHEAD_MAX_MS),
    ],
  });
  return rows.length > 0;
}

async function insertRows(db: Queryable, message: NewInboundMessage): Promise<void> {
  const { workspaceId, mode, id, addresses } = message;
  await db.query({
    name: 'insert-inbound-message',
    text: `insert into inbound_messages (workspace_id, mode, id, received_at, domain, mail_from,
        recipients, sender, sender_name, subject, header_message_id, in_reply_to_message_id, size,
        fingerprint, details)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)`,
    values: [
      workspaceId,
      mode,
      id,
      sqlTime(message.receivedAtMs),
      message.domain,
      message.mailFrom,
      message.recipients,
      message.sender,
      message.senderName,
      message.subject,
      message.headerMessageId,
      message.inReplyToMessageId,
      message.sizeBytes,
      message.fingerprint,
      JSON.stringify(message.details),
    ],
  });
  await db.query({
    name: 'insert-inbound-addresses',
    text: `insert into inbound_addresses
        (workspace_id, mode, message_id, address_key, is_sender, is_recipient)
      select $1, $2, $3, a.* from unnest($4::text[], $5::boolean[], $6::boolean[]) a`,
    values: [
      workspaceId,
      mode,
      id,
      addresses.map(({ key }) => key),
      addresses.map(({ isSender }) => isSender),
      addresses.map(({ isRecipient }) => isRecipient),
    ],
  });
  await db.query({
    name: 'insert-inbound-content',
    text: 'insert into inbound_contents (workspace_id, mode, id, raw) values ($1, $2, $3, $4)',
    values: [workspaceId, mode, id, message.raw],
  });
}

export async function findInboundMessage(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  id: string,
): Promise<InboundMessage | undefined> {
  const { rows } = await db.query<InboundMessage>({
    name: 'find-inbound-message',
    text: `select ${MESSAGE} from inbound_messages m
      where workspace_id = $1 and mode = $2 and id = $3`,
    values: [workspaceId, mode, id],
  });
  return rows[0];
}

/** The mail as it arrived, behind our Received field; undefined once its retention has ended. */
export async function readInboundContent(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  id: string,
): Promise<Buffer | undefined> {
  const { rows } = await db.query<{ raw: Buffer }>({
    name: 'read-inbound-content',
    text: 'select raw from inbound_contents where workspace_id = $1 and mode = $2 and id = $3',
    values: [workspaceId, mode, id],
  });
  return rows[0]?.raw;
}

/** Requires a transaction. Returns how many of the messages existed. */
export async function deleteInboundMessages(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  ids: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const values = [workspaceId, mode, ids, ...uuidRange(ids)];
  const { rowCount } = await db.query({
    name: 'delete-inbound-messages',
    text: `delete from inbound_messages
      where workspace_id = $1 and mode = $2 and id = any($3) and id between $4 and $5`,
    values,
  });
  await db.query({
    name: 'delete-inbound-addresses',
    text: `delete from inbound_addresses where workspace_id = $1 and mode = $2
      and message_id = any($3) and message_id between $4 and $5`,
    values,
  });
  await db.query({
    name: 'delete-inbound-contents',
    text: `delete from inbound_contents
      where workspace_id = $1 and mode = $2 and id = any($3) and id between $4 and $5`,
    values,
  });
  return rowCount ?? 0;
}

/** Messages from or to an address, or that name it in To, Cc or Reply-To. */
export async function findInboundMessagesOf(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  addressKey: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>({
    name: 'find-inbound-messages-of',
    text: `select message_id as id from inbound_addresses
      where workspace_id = $1 and mode = $2 and address_key = $3 order by message_id limit $4`,
    values: [workspaceId, mode, addressKey, limit],
  });
  return rows.map(({ id }) => id);
}

export interface InboundFilter {
  /** The envelope sender, or the address in From. */
  senderKey?: string;
  /** An envelope recipient. */
  recipientKey?: string;
  /** Of an envelope recipient; lower case. */
  recipientDomain?: string;
  /** The receiving domain; lower case. */
  domain?: string;
  inReplyToMessageId?: string;
  /** Patterns of `searchPatterns`, which must occur in the subject, the sender or its name. */
  searchPatterns?: readonly string[];
}

export interface InboundScan {
  beforeId: string;
  sinceId: string;
  /** How many messages are examined, and how many matches are returned. */
  scanMax: number;
  matchesMax: number;
}

/**
 * Scans at most `scanMax` messages before `beforeId`, newest first, and returns those that match.
 * `lastId` is the last message scanned, for the next call. Messages of an address, and the replies to a
 * message, are found by an index.
 */
export async function scanInboundMessages(
  db: Queryable,
  { workspaceId, mode }: TenantScope,
  filter: InboundFilter,
  bounds: InboundScan,
): Promise<{ messages: InboundMessage[]; scanned: number; lastId: string | null }> {
  const scan = scanFor(filter);
  const { rows } = await db.query<InboundMessage & { scanned: number; lastId: string | null }>({
    name: scan.name,
    text: `with scanned as materialized (${scan.rows}),
      matched as materialized (select s.* from scanned s where
        ($7::text is null or exists (select from inbound_addresses a
          where a.workspace_id = $1 and a.mode = $2 and a.message_id = s.id
            and a.address_key = $7 and a.is_sender))
        and ($8::text is null or exists (select from inbound_addresses a
          where a.workspace_id = $1 and a.mode = $2 and a.message_id = s.id
            and a.address_key = $8 and a.is_recipient))
        and ($9::text is null or exists (select from inbound_addresses a
          where a.workspace_id = $1 and a.mode = $2 and a.message_id = s.id
            and a.is_recipient and right(a.address_key, length($9) + 1) = '@' || $9))
        and ($10::text is null or s.domain = $10)
        and ($11::uuid is null or s.in_reply_to_message_id = $11)
        and ${containsTerms('$12', ['s.subject', 's.sender', 's.sender_name'])}
        order by s.id desc limit $6)
      select ${MESSAGE}, edge.scanned, edge."lastId"
        from (select count(*)::int as scanned, (array_agg(id order by id))[1] as "lastId"
                from scanned) edge
        left join matched m on true order by m.id desc`,
    values: [
      workspaceId,
      mode,
      bounds.beforeId,
      bounds.sinceId,
      bounds.scanMax,
      bounds.matchesMax,
      filter.senderKey ?? null,
      filter.recipientKey ?? null,
      filter.recipientDomain ?? null,
      filter.domain ?? null,
      filter.inReplyToMessageId ?? null,
      filter.searchPatterns ?? null,
    ],
  });
  return {
    messages: rows.filter(({ id }) => id !== null),
    scanned: rows[0]?.scanned ?? 0,
    lastId: rows[0]?.lastId ?? null,
  };
}

/** Which messages to scan: those that an index finds, or all. */
function scanFor({ senderKey, recipientKey, inReplyToMessageId }: InboundFilter) {
  if (inReplyToMessageId !== undefined) return { name: 'scan-inbound-replies', rows: SCAN_REPLIES };
  if (recipientKey !== undefined)
    return { name: 'scan-inbound-to', rows: scanAddress('$8', 'is_recipient') };
  if (senderKey !== undefined)
    return { name: 'scan-inbound-from', rows: scanAddress('$7', 'is_sender') };
  return { name: 'scan-inbound', rows: SCAN_ALL };
}

const SCAN_ALL = `select * from inbound_messages
  where workspace_id = $1 and mode = $2 and id < $3 and id >= $4 order by id desc limit $5`;

const SCAN_REPLIES = `select * from inbound_messages
  where workspace_id = $1 and mode = $2 and in_reply_to_message_id = $11 and id < $3 and id >= $4
  order by id desc limit $5`;

function scanAddress(parameter: '$7' | '$8', role: 'is_sender' | 'is_recipient'): string {
  return `select m.* from inbound_addresses r
      join inbound_messages m on m.workspace_id = $1 and m.mode = $2 and m.id = r.message_id
    where r.workspace_id = $1 and r.mode = $2 and r.address_key = ${parameter} and r.${role}
      and r.message_id < $3 and r.message_id >= $4 order by r.message_id desc limit $5`;
}
