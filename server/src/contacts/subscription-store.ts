import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { ContactSubscriptionsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';

/** The rows of what contacts chose: when they subscribed to a stream or left it, and how. */

export type SubscriptionStatus = ContactSubscriptionsRow['status'];
export type SubscriptionSource = ContactSubscriptionsRow['source'];

export interface SubscriptionChoice {
  emailKey: string;
  stream: string;
  status: SubscriptionStatus;
  changedAtMs: number;
  source: SubscriptionSource;
}

const COLUMNS = selectList<ContactSubscriptionsRow, SubscriptionChoice>({
  emailKey: 'email_key',
  stream: 'stream',
  status: 'status',
  changedAtMs: 'changed_at',
  source: 'source',
});

/** More than a workspace has streams, including deleted ones. Keeps the planner to the index. */
const STREAMS_READ_MAX = 10_000;

/** Each address is looked up on its own, for the reason given at lockContacts. */
export async function findChoices(
  db: Queryable,
  scope: TenantScope,
  emailKeys: readonly string[],
): Promise<SubscriptionChoice[]> {
  const { rows } = await db.query<SubscriptionChoice>({
    name: 'find-subscription-choices',
    text: `select c.* from unnest($3::text[]) k cross join lateral (
        select ${COLUMNS} from contact_subscriptions
        where workspace_id = $1 and mode = $2 and email_key = k
        limit ${STREAMS_READ_MAX}) c`,
    values: [scope.workspaceId, scope.mode, emailKeys],
  });
  return rows;
}

/**
 * Records choices of addresses that have a contact, in the order of their keys, so that two writers
 * cannot deadlock.
 */
export async function saveChoices(
  db: Queryable,
  scope: TenantScope,
  choices: readonly SubscriptionChoice[],
): Promise<void> {
  if (choices.length === 0) return;
  await db.query({
    name: 'save-subscription-choices',
    text: `insert into contact_subscriptions (workspace_id, mode, email_key, stream, status,
        changed_at, source)
      select $1, $2, r.email_key, r.stream, r.status, r.changed_at, r.source
      from json_to_recordset($3::json) as r(email_key text, stream text, status text,
        changed_at timestamptz, source text)
      where exists (select from contacts c
        where c.workspace_id = $1 and c.mode = $2 and c.email_key = r.email_key)
      order by r.email_key, r.stream
      on conflict (workspace_id, mode, email_key, stream) do update set status = excluded.status,
        changed_at = excluded.changed_at, source = excluded.source`,
    values: [scope.workspaceId, scope.mode, JSON.stringify(choices.map(toRecord))],
  });
}

function toRecord(choice: SubscriptionChoice): object {
  return {
    email_key: choice.emailKey,
    stream: choice.stream,
    status: choice.status,
    changed_at: sqlTime(choice.changedAtMs),
    source: choice.source,
  };
}

/**
 * Keeps a contact from being changed or deleted until the transaction ends. Changes of a contact lock
 * it before its suppressions, so a recipient who unsubscribes must do the same.
 */
export async function lockContactKey(
  db: Queryable,
  scope: TenantScope,
  emailKey: string,
): Promise<void> {
  await db.query(
    `select from contacts where workspace_id = $1 and mode = $2 and email_key = $3 for key share`,
    [scope.workspaceId, scope.mode, emailKey],
  );
}
