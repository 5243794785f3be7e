import type { NotificationListener } from '../db/listen.ts';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { type BrakeSettings, effectiveQuotas } from './brake.ts';
import { ContentQuota } from './content-quota.ts';
import { CountedQuota } from './counted-quota.ts';
import { MessageQuotas } from './message-quotas.ts';
import { contactQuotaExceeded, contentQuotaExceeded, NO_QUOTAS, type Quotas } from './quota.ts';
import { findQuotaContext } from './quota-context-store.ts';
import { QuotaLeases } from './quota-leases.ts';
import { countContacts, readContentBytes } from './quota-store.ts';
import { WorkspaceBrakes } from './workspace-brakes.ts';
import { WorkspaceQuotas } from './workspace-quotas.ts';

export interface QuotaServices {
  workspaceQuotas: WorkspaceQuotas;
  messageQuotas: MessageQuotas;
  contactQuota: CountedQuota;
  contentQuota: ContentQuota;
  workspaceBrakes: WorkspaceBrakes;
}

/** Connects the parts that enforce quotas on this node with the database and other nodes. */
export function createQuotas(parts: {
  pool: Pool;
  clock: Clock;
  brake: BrakeSettings;
  /** How long content is kept. */
  contentDays: number;
  notifications: NotificationListener;
  onEventsAppended: () => void;
}): QuotaServices {
  const { pool, clock, brake, contentDays, notifications, onEventsAppended } = parts;
  const read = async (workspaceId: string): Promise<Quotas | undefined> => {
    const found = await findQuotaContext(pool, workspaceId);
    return found && effectiveQuotas(found.quotas, NO_QUOTAS, found.context, brake, clock.now());
  };
  const leases = new QuotaLeases({ pool, clock, onEventsAppended });
  const messageQuotas = new MessageQuotas({
    clock,
    isListening: () => notifications.connected,
    read,
    lease: (workspaceId, quotas, messages) => leases.lease(workspaceId, quotas, messages),
    giveBack: (workspaceId, hourMs, messages) => leases.giveBack(workspaceId, hourMs, messages),
  });
  const quotasOf = (workspaceId: string) => messageQuotas.quotasOf(workspaceId);
  const contactQuota = new CountedQuota({
    clock,
    limitOf: async (workspaceId) => (await quotasOf(workspaceId))?.contacts ?? null,
    count: (workspaceId, max) => countContacts(pool, workspaceId, max),
    refuse: contactQuotaExceeded,
  });
  const countContentBytes = (workspaceId: string): Promise<number> =>
    readContentBytes(pool, workspaceId, startOfDay(clock.now()) - contentDays * DAY_MS);
  const contentBytesQuota = new CountedQuota({
    clock,
    limitOf: async (workspaceId) => (await quotasOf(workspaceId))?.content_bytes ?? null,
    count: countContentBytes,
    refuse: contentQuotaExceeded,
  });
  const invalidate = (workspaceId: string): void => {
    messageQuotas.invalidateWorkspace(workspaceId);
    contactQuota.invalidateWorkspace(workspaceId);
    contentBytesQuota.invalidateWorkspace(workspaceId);
  };
  notifications.on('quotas', invalidate);
  notifications.onGap(() => {
    messageQuotas.invalidateAll();
    contactQuota.invalidateAll();
    contentBytesQuota.invalidateAll();
  });
  return {
    workspaceQuotas: new WorkspaceQuotas({
      pool,
      clock,
      effective: read,
      countContentBytes,
      onChange: invalidate,
    }),
    messageQuotas,
    contactQuota,
    contentQuota: new ContentQuota({ quotasOf, quota: contentBytesQuota }),
    workspaceBrakes: new WorkspaceBrakes({ pool, clock, settings: brake, onChange: invalidate }),
  };
}

const DAY_MS = 86_400_000;

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}
