import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/connections/pool.ts';
import { decodeId } from '../lib/ids.ts';
import { findMessagesByHeader } from '../messages/lookup/message-header-store.ts';

/** Replies name the message that they answer, and often the whole conversation before it. */
const CANDIDATES_MAX = 20;

/**
 * Finds the message of the workspace that a mail answers: the one in `In-Reply-To`, or else the last one
 * in `References`. A generated Message-ID contains the id of its message.
 */
export async function findAnsweredMessage(
  pool: Pool,
  scope: TenantScope,
  { inReplyTo, references }: { inReplyTo: string | null; references: readonly string[] },
): Promise<string | null> {
  const newestFirst = [...(inReplyTo === null ? [] : [inReplyTo]), ...references.toReversed()];
  const candidates = [...new Set(newestFirst)].slice(0, CANDIDATES_MAX);
  if (candidates.length === 0) return null;
  const ids = candidates.flatMap((one) => decodeId('msg', one.split('@', 1)[0] ?? '') ?? []);
  const found = await findMessagesByHeader(pool, scope, { ids, messageIds: candidates });
  for (const candidate of candidates) {
    const answered = found.find(({ messageId }) => messageId === candidate);
    if (answered) return answered.id;
  }
  return null;
}
