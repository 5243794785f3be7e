import type { Mode } from '../../../src/accounts/tenant-scope.ts';
import type { Pool } from '../../../src/db/connections/pool.ts';
import { sqlTime } from '../../../src/db/schema/row-types.ts';
import { uuidv7 } from '../../../src/lib/ids.ts';
import type { MessageContent } from '../../../src/messages/content/message-content.ts';
import { addressDomain, queueShardOf } from '../../../src/messages/queue-shard.ts';

/** Inserts messages into the queue directly, for tests of delivery. */
export interface QueuedMessage {
  workspaceId: string;
  mode?: Mode;
  nowMs: number;
  recipients: readonly string[];
  /** Those of the recipients who are in Bcc. */
  bcc?: readonly string[];
  replyTo?: string;
  from?: string;
  subject?: string;
  html?: string;
  text?: string | null;
  status?: 'queued' | 'scheduled' | 'deferred';
  dueAtMs?: number;
  ttlSeconds?: number;
  stream?: string;
  tags?: string[];
  metadata?: Record<string, string>;
  attachments?: { filename: string; contentType: string; content: Buffer }[];
}

const WINDOW_MS = 72 * 3_600_000;

export async function newWorkspace(pool: Pool, nowMs: number): Promise<string> {
  const id = uuidv7(nowMs);
  await pool.query('insert into workspaces (id, name, created_at) values ($1, $2, $3)', [
    id,
    'Test',
    sqlTime(nowMs),
  ]);
  return id;
}

/** Returns the ids of the messages, in order. */
export async function enqueue(pool: Pool, queued: readonly QueuedMessage[]): Promise<string[]> {
  const messages = queued.map((given) => ({ ...given, id: uuidv7(given.nowMs) }));
  await insert(pool, 'messages', messages.map(messageRow), MESSAGE_COLUMNS);
  await insert(pool, 'message_contents', messages.map(contentRow), CONTENT_COLUMNS);
  await insert(pool, 'deliveries', messages.flatMap(deliveryRows), DELIVERY_COLUMNS);
  for (const message of messages) {
    for (const [ordinal, file] of (message.attachments ?? []).entries()) {
      await pool.query(
        `insert into message_attachments
           (workspace_id, mode, message_id, ordinal, filename, content_type, content)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [
          message.workspaceId,
          message.mode ?? 'live',
          message.id,
          ordinal,
          file.filename,
          file.contentType,
          file.content,
        ],
      );
    }
  }
  return messages.map((message) => message.id);
}

type WithId = QueuedMessage & { id: string };

const MESSAGE_COLUMNS = `workspace_id uuid, mode mode, id uuid, created_at timestamptz,
  scheduled_at timestamptz, sender text, subject text, stream text, tags text[], metadata json,
  ttl_seconds int`;

function messageRow(message: WithId): object {
  return {
    ...keyOf(message),
    id: message.id,
    created_at: sqlTime(message.nowMs),
    scheduled_at: message.status === 'scheduled' ? sqlTime(dueAt(message)) : null,
    sender: senderOf(message),
    subject: contentOf(message).subject,
    stream: message.stream ?? 'transactional',
    tags: message.tags ?? [],
    metadata: message.metadata ?? {},
    ttl_seconds: message.ttlSeconds ?? null,
  };
}

const CONTENT_COLUMNS = 'workspace_id uuid, mode mode, id uuid, head json, html text, text text';

function contentRow(message: WithId): object {
  const { head, html, text } = contentOf(message);
  return { ...keyOf(message), id: message.id, head, html, text };
}

/** The content that receivers should get. */
export function contentOf(message: QueuedMessage): MessageContent {
  return {
    subject: message.subject ?? 'Hello',
    head: {
      from: { email: senderOf(message) },
      to: message.recipients
        .filter((email) => !message.bcc?.includes(email))
        .map((email) => ({ email })),
      cc: [],
      reply_to: message.replyTo === undefined ? [] : [{ email: message.replyTo }],
      headers: [],
    },
    html: message.html ?? '<p>Hello</p>',
    text: message.text ?? null,
    attachments: message.attachments ?? [],
  };
}

const DELIVERY_COLUMNS = `workspace_id uuid, mode mode, message_id uuid, ordinal smallint,
  kind recipient_kind, recipient text, recipient_key text, status delivery_status, shard smallint,
  due_at timestamptz, expires_at timestamptz`;

function deliveryRows(message: WithId): object[] {
  const lifeMs = message.ttlSeconds === undefined ? WINDOW_MS : message.ttlSeconds * 1000;
  const startMs = message.status === 'scheduled' ? dueAt(message) : message.nowMs;
  return message.recipients.map((recipient, ordinal) => ({
    ...keyOf(message),
    message_id: message.id,
    ordinal,
    kind: message.bcc?.includes(recipient) ? 'bcc' : ordinal === 0 ? 'to' : 'cc',
    recipient,
    recipient_key: recipient.toLowerCase(),
    status: message.status ?? 'queued',
    shard: queueShardOf(addressDomain(recipient.toLowerCase())),
    due_at: sqlTime(dueAt(message)),
    expires_at: sqlTime(startMs + lifeMs),
  }));
}

function keyOf(message: WithId): object {
  return { workspace_id: message.workspaceId, mode: message.mode ?? 'live' };
}

function senderOf(message: QueuedMessage): string {
  return message.from ?? 'sender@example.com';
}

function dueAt(message: WithId): number {
  return message.dueAtMs ?? message.nowMs;
}

async function insert(pool: Pool, table: string, rows: object[], columns: string): Promise<void> {
  const names = columns.split(',').map((column) => column.trim().split(/\s+/)[0]);
  const list = names.join(', ');
  await pool.query(
    `insert into ${table} (${list}) select ${list} from json_to_recordset($1::json) as r(${columns})`,
    [JSON.stringify(rows)],
  );
}

export interface DeliveryState {
  recipient: string;
  status: string;
  reason: string | null;
  attempts: number;
  lease: number | null;
  due_at: number | null;
  finished_at: number | null;
  event_sequence: number;
}

export async function deliveriesOf(pool: Pool, messageId: string): Promise<DeliveryState[]> {
  const { rows } = await pool.query<DeliveryState>(
    `select recipient, status, reason, attempts, lease, due_at, finished_at, event_sequence
       from deliveries where message_id = $1 order by ordinal`,
    [messageId],
  );
  return rows;
}

export interface EventState {
  type: string;
  sequence: number | null;
  data: Record<string, unknown>;
}

export async function eventsOf(pool: Pool, workspaceId: string): Promise<EventState[]> {
  const { rows } = await pool.query<EventState>(
    'select type, sequence, data from events where workspace_id = $1 order by tx, id',
    [workspaceId],
  );
  return rows;
}
