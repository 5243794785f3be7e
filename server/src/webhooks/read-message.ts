import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Pool } from '../db/pool.ts';
import { decodeId } from '../lib/ids.ts';
import { findMessageHeader, type MessageHeader } from '../messages/lookup/message-header-store.ts';

/**
 * Reads what other providers' formats show of a message and our events do not contain: one lookup by
 * key for each request, and none in our own format.
 */
export type ReadMessage = (scope: TenantScope, id: string) => Promise<MessageHeader | undefined>;

export function createReadMessage(pool: Pool): ReadMessage {
  return async (scope, id) => {
    const uuid = decodeId('msg', id);
    return uuid === undefined ? undefined : findMessageHeader(pool, scope, uuid);
  };
}
