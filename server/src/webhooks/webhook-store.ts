import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { WebhooksRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import type { WebhookFormatName } from './formats/webhook-format.ts';

/** An endpoint as stored, without its secrets. */
export interface Webhook extends TenantScope {
  id: string;
  url: string;
  events: string[];
  /** Empty for all streams. */
  streams: string[];
  description: string;
  format: WebhookFormatName;
  enabled: boolean;
  encryptedHeaders: Buffer | null;
  revision: number;
  failingSinceMs: number | null;
  disabledAtMs: number | null;
  disabledReason: string | null;
  createdAtMs: number;
  updatedAtMs: number;
  /** The newest key. */
  keyId: string;
  /** What receivers verify with, if the format signs with a key pair. */
  publicKey: string | null;
  /** Events that wait for their first attempt, at least this many. */
  waitingEvents: number;
  oldestWaitingId: string | null;
}

const NEWEST_KEY = `from webhook_secrets s where s.workspace_id = w.workspace_id
  and s.mode = w.mode and s.webhook_id = w.id order by s.id desc limit 1`;

/** Each row has a batch of the fan-out, so this is enough for a number that says what is going on. */
const COUNTED_ROWS = 1_000;

/** webhook-backlog-store.ts */
const WAITING = `from webhook_backlogs b where b.workspace_id = w.workspace_id
  and b.mode = w.mode and b.webhook_id = w.id order by b.first_tx, b.first_id`;

type JoinedColumns = 'keyId' | 'publicKey' | 'waitingEvents' | 'oldestWaitingId';

const OWN_COLUMNS = selectList<WebhooksRow, Omit<Webhook, JoinedColumns>>(
  {
    workspaceId: 'workspace_id',
    mode: 'mode',
    id: 'id',
    url: 'url',
    events: 'events',
    streams: 'streams',
    description: 'description',
    format: 'format',
    enabled: 'enabled',
    encryptedHeaders: 'encrypted_headers',
    revision: 'revision',
    failingSinceMs: 'failing_since',
    disabledAtMs: 'disabled_at',
    disabledReason: 'disabled_reason',
    createdAtMs: 'created_at',
    updatedAtMs: 'updated_at',
  },
  'w',
);

const COLUMNS = `${OWN_COLUMNS}, (select s.id ${NEWEST_KEY}) as "keyId",
  (select s.public_key ${NEWEST_KEY}) as "publicKey",
  (select coalesce(sum(c.events), 0) from (select b.events ${WAITING} limit ${COUNTED_ROWS}) c)
    as "waitingEvents",
  (select b.first_id ${WAITING} limit 1) as "oldestWaitingId"`;

/**
 * The condition that an endpoint, with the alias `w`, subscribes to an event with the given alias. The
 * data is read only for endpoints that are limited to streams. An event without a stream, such as one
 * about a domain or a suppression of all mail, is not filtered by it. Audit events are selected by name.
 */
export const subscribesTo = (event: string): string => `
  (${event}.type = any(w.events) or '*' = any(w.events) and ${event}.type <> 'audit.recorded'
    or split_part(${event}.type, '.', 1) || '.*' = any(w.events))
  and (w.streams = '{}' or coalesce(
    coalesce(${event}.data ->> 'stream', ${event}.data #>> '{suppression,stream}',
      ${event}.data #>> '{alarm,stream}') = any(w.streams), true))`;

const THIS_TX = 'event_log_tx()';

/** The endpoint receives events of transactions after this one. */
export async function insertWebhook(db: Queryable, webhook: Webhook): Promise<void> {
  await db.query(
    `insert into webhooks (workspace_id, mode, id, url, events, description, format, enabled,
       encrypted_headers, since_tx, created_at, updated_at, streams)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, ${THIS_TX}, $10, $10, $11)`,
    [
      webhook.workspaceId,
      webhook.mode,
      webhook.id,
      webhook.url,
      webhook.events,
      webhook.description,
      webhook.format,
      webhook.enabled,
      webhook.encryptedHeaders,
      sqlTime(webhook.createdAtMs),
      webhook.streams,
    ],
  );
}

/**
 * When an endpoint is enabled, events since it was disabled are left to a replay, and earlier
 * failures are forgotten, as they are with a new URL.
 */
export async function updateWebhook(db: Queryable, webhook: Webhook): Promise<void> {
  await db.query(
    `update webhooks w set url = $4, events = $5, description = $6, encrypted_headers = $8,
       since_tx = case when $7 and not w.enabled then ${THIS_TX} else w.since_tx end,
       failing_since = case when $7 and not w.enabled or w.url <> $4 then null
         else w.failing_since end,
       disabled_at = $9, disabled_reason = $10, enabled = $7, updated_at = $11,
       streams = $12, revision = w.revision + 1
     where workspace_id = $1 and mode = $2 and id = $3`,
    [
      webhook.workspaceId,
      webhook.mode,
      webhook.id,
      webhook.url,
      webhook.events,
      webhook.description,
      webhook.enabled,
      webhook.encryptedHeaders,
      sqlTime(webhook.disabledAtMs),
      webhook.disabledReason,
      sqlTime(webhook.updatedAtMs),
      webhook.streams,
    ],
  );
}

/**
 * Undefined when the endpoint was already disabled or deleted, or when the cause no longer applies.
 */
export async function disableEnabled(
  db: Queryable,
  scope: TenantScope,
  id: string,
  { reason, url }: { reason: 'gone' | 'failing'; url: string },
  atMs: number,
): Promise<Webhook | undefined> {
  const { rows } = await db.query<Webhook>(
    `update webhooks w set enabled = false, disabled_at = $5, disabled_reason = $4,
       updated_at = $5, revision = w.revision + 1
     where w.workspace_id = $1 and w.mode = $2 and w.id = $3 and w.enabled and w.url = $6
       and ($4 <> 'failing' or w.failing_since is not null)
     returning ${COLUMNS}`,
    [scope.workspaceId, scope.mode, id, reason, sqlTime(atMs), url],
  );
  return rows[0];
}

export async function deleteWebhook(
  db: Queryable,
  scope: TenantScope,
  id: string,
): Promise<boolean> {
  const { rowCount } = await db.query(
    'delete from webhooks where workspace_id = $1 and mode = $2 and id = $3',
    [scope.workspaceId, scope.mode, id],
  );
  return rowCount === 1;
}

export async function findWebhook(
  db: Queryable,
  scope: TenantScope,
  id: string,
  lock: '' | 'for update' = '',
): Promise<Webhook | undefined> {
  const { rows } = await db.query<Webhook>(
    `select ${COLUMNS} from webhooks w
     where w.workspace_id = $1 and w.mode = $2 and w.id = $3 ${lock}`,
    [scope.workspaceId, scope.mode, id],
  );
  return rows[0];
}

/** Newest first; `before` is the last id of the previous page. */
export async function listWebhooks(
  db: Queryable,
  scope: TenantScope,
  page: { before?: string; limit: number },
): Promise<Webhook[]> {
  const { rows } = await db.query<Webhook>(
    `select ${COLUMNS} from webhooks w
     where w.workspace_id = $1 and w.mode = $2 and ($3::uuid is null or w.id < $3)
     order by w.id desc limit $4`,
    [scope.workspaceId, scope.mode, page.before ?? null, page.limit],
  );
  return rows;
}

export async function countWebhooks(db: Queryable, scope: TenantScope): Promise<number> {
  const { rows } = await db.query<{ n: number }>(
    'select count(*) as n from webhooks where workspace_id = $1 and mode = $2',
    [scope.workspaceId, scope.mode],
  );
  return rows[0]?.n ?? 0;
}

export interface StoredSecret {
  id: string;
  encryptedSecret: Buffer;
  endsAtMs: number | null;
}

export async function insertSecret(
  db: Queryable,
  scope: TenantScope,
  webhookId: string,
  secret: { id: string; encryptedSecret: Buffer; publicKey: string | null },
): Promise<void> {
  await db.query(
    `insert into webhook_secrets (workspace_id, mode, webhook_id, id, encrypted_secret, public_key)
     values ($1, $2, $3, $4, $5, $6)`,
    [scope.workspaceId, scope.mode, webhookId, secret.id, secret.encryptedSecret, secret.publicKey],
  );
}

/** The public half of a key of any workspace, and its endpoint. */
export async function findPublicKey(
  db: Queryable,
  keyId: string,
): Promise<{ webhookId: string; publicKey: string } | undefined> {
  const { rows } = await db.query<{ webhookId: string; publicKey: string }>({
    name: 'webhooks-public-key',
    text: `select webhook_id as "webhookId", public_key as "publicKey" from webhook_secrets
      where id = $1 and public_key is not null`,
    values: [keyId],
  });
  return rows[0];
}

/** For a rotation: the current secret stays valid until `endsAtMs`; an older one is removed. */
export async function retireSecrets(
  db: Queryable,
  scope: TenantScope,
  webhookId: string,
  endsAtMs: number,
): Promise<void> {
  const key = [scope.workspaceId, scope.mode, webhookId];
  const where = 'workspace_id = $1 and mode = $2 and webhook_id = $3';
  await db.query(`delete from webhook_secrets where ${where} and expires_at is not null`, key);
  await db.query(`update webhook_secrets set expires_at = $4 where ${where}`, [
    ...key,
    sqlTime(endsAtMs),
  ]);
}

/** Newest first. */
export async function readSecrets(
  db: Queryable,
  scope: TenantScope,
  webhookId: string,
): Promise<StoredSecret[]> {
  const { rows } = await db.query<StoredSecret>(
    `select id, encrypted_secret as "encryptedSecret", expires_at as "endsAtMs" from webhook_secrets
     where workspace_id = $1 and mode = $2 and webhook_id = $3 order by id desc`,
    [scope.workspaceId, scope.mode, webhookId],
  );
  return rows;
}
