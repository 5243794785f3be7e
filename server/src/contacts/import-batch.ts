import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Contact } from './contact-store.ts';
import { insertContacts, lockContacts, updateContacts } from './contact-store.ts';
import {
  type ContactSubscriptions,
  subscriptionErrors,
  type WantedSubscription,
} from './contact-subscriptions.ts';
import { applyChange, newContact } from './contacts.ts';
import { type ImportLine, type LineFailure, toLineFailure } from './import-lines.ts';
import type { ImportCounts } from './import-store.ts';

/**
 * A contact of the batch was created between the lock and the insert. The batch must be repeated.
 */
export class BatchConflictError extends Error {
  override name = 'BatchConflictError';
}

export interface BatchResult {
  counts: ImportCounts;
  failures: (LineFailure & { line: number })[];
}

/**
 * Writes the contacts of some lines within the caller's transaction. Lines take effect in order:
 * when an address occurs twice, the second line updates what the first one wrote.
 */
export async function applyLines(
  client: Queryable,
  scope: TenantScope,
  lines: readonly ImportLine[],
  subscriptions: ContactSubscriptions,
  nowMs: number,
  /** How many contacts the quota of the workspace allows to be created. */
  createdMax: number = Infinity,
): Promise<BatchResult> {
  const streams = new Set(await subscriptions.streams(scope.workspaceId));
  const keys = lines.flatMap((line) => ('mailbox' in line ? [line.mailbox.key] : []));
  const before = new Map(
    (await lockContacts(client, scope, [...new Set(keys)])).map((one) => [one.emailKey, one]),
  );
  const after = new Map(before);
  const counts: ImportCounts = { created: 0, updated: 0, unchanged: 0, failed: 0 };
  const failures: BatchResult['failures'] = [];
  const chosen: WantedSubscription[] = [];
  const unchanged = new Set<string>();
  for (const line of lines) {
    const effect = applyLine(after, line, streams, nowMs, counts.created < createdMax);
    if (typeof effect === 'string') {
      counts[effect] += 1;
      if (!('mailbox' in line)) continue;
      const emailKey = line.mailbox.key;
      if (effect === 'unchanged') unchanged.add(emailKey);
      chosen.push(...(line.change.subscriptions ?? []).map((one) => ({ ...one, emailKey })));
    } else {
      counts.failed += 1;
      failures.push({ line: line.line, ...effect });
    }
  }
  await write(client, scope, before, after);
  const changed = await subscriptions.set(client, scope, chosen, 'import');
  for (const emailKey of changed) {
    if (!unchanged.has(emailKey)) continue;
    counts.unchanged -= 1;
    counts.updated += 1;
  }
  return { counts, failures };
}

const QUOTA_EXCEEDED = {
  code: 'quota_exceeded',
  detail: 'The workspace has as many contacts as the operator allows.',
};

function applyLine(
  contacts: Map<string, Contact>,
  line: ImportLine,
  streams: ReadonlySet<string>,
  nowMs: number,
  mayCreate: boolean,
): 'created' | 'updated' | 'unchanged' | LineFailure {
  if ('failure' in line) return line.failure;
  const { mailbox, change } = line;
  const [unknown] = subscriptionErrors(change.subscriptions ?? [], streams, nowMs);
  if (unknown) return toLineFailure(unknown);
  const old = contacts.get(mailbox.key);
  if (!old && !mayCreate) return toLineFailure(QUOTA_EXCEEDED);
  try {
    const contact = old ? applyChange(old, change, nowMs) : newContact(mailbox, change, nowMs);
    contacts.set(mailbox.key, contact);
    if (!old) return 'created';
    return contact === old ? 'unchanged' : 'updated';
  } catch (error) {
    const [first] = error instanceof RefusedError ? error.errors : [];
    if (!first) throw error;
    return toLineFailure(first);
  }
}

async function write(
  client: Queryable,
  scope: TenantScope,
  before: ReadonlyMap<string, Contact>,
  after: ReadonlyMap<string, Contact>,
): Promise<void> {
  const all = [...after.values()];
  const added = all.filter(({ emailKey }) => !before.has(emailKey));
  const written = await insertContacts(client, scope, added);
  if (written.size < added.length) throw new BatchConflictError();
  await updateContacts(
    client,
    scope,
    all.filter((one) => before.has(one.emailKey) && before.get(one.emailKey) !== one),
  );
}
