import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import { decodeId } from '../../lib/ids.ts';
import {
  findMessageHeader,
  findMessageHeaders,
} from '../../messages/lookup/message-header-store.ts';
import type { EventReaders } from '../formats/formats.ts';
import type { InboundContent } from '../formats/webhook-format.ts';

/**
 * Reads what other providers' formats show of a message and our events do not contain: one lookup by
 * key for each request, and none in our own format.
 */
export type ReadSource = (scope: TenantScope) => EventReaders;

/** The content of an inbound message by its UUID; undefined once it has been deleted. */
export type ReadInboundContent = (
  pool: Pool,
  scope: TenantScope,
  id: string,
) => Promise<InboundContent | undefined>;

export function createReadSource(pool: Pool, readInboundContent: ReadInboundContent): ReadSource {
  return (scope) => ({
    message: async (id, { needsCustomHeaders }) => {
      const uuid = decodeId('msg', id);
      const find = needsCustomHeaders ? findMessageHeaders : findMessageHeader;
      return uuid === undefined ? undefined : find(pool, scope, uuid);
    },
    inboundContent: async (id) => {
      const uuid = decodeId('inm', id);
      return uuid === undefined ? undefined : readInboundContent(pool, scope, uuid);
    },
  });
}
