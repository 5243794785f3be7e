import type { NotificationListener } from '../db/listen.ts';
import type { Pool } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { type BrakeSettings, effectiveQuotas } from './brake.ts';
import { ContactQuota } from './contact-quota.ts';
import { MessageQuotas } from './message-quotas.ts';
import { NO_QUOTAS, type Quotas } from './quota.ts';
import { findQuotaContext } from './quota-context-store.ts';
import { QuotaLeases } from './quota-leases.ts';
import { countContacts } from './quota-store.ts';
import { WorkspaceBrakes } from './workspace-brakes.ts';
import { WorkspaceQuotas } from './workspace-quotas.ts';

export interface QuotaServices {
  workspaceQuotas: WorkspaceQuotas;
  messageQuotas: MessageQuotas;
  contactQuota: ContactQuota;
  workspaceBrakes: WorkspaceBrakes;
}

/** Connects the parts that enforce quotas on this node with the database and other nodes. */
export function createQuotas(parts: {
  pool: Pool;
  clock: Clock;
  brake: BrakeSettings;
  notifications: NotificationListener;
  onEventsAppended: () => void;
}): QuotaServices {
  const { pool, clock, brake, notifications, onEventsAppended } = parts;
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
  const contactQuota = new ContactQuota({
    clock,
    read: (workspaceId) => messageQuotas.quotasOf(workspaceId),
    count: (workspaceId, max) => countContacts(pool, workspaceId, max),
  });
  const invalidate = (workspaceId: string): void => {
    messageQuotas.invalidateWorkspace(workspaceId);
    contactQuota.invalidateWorkspace(workspaceId);
  };
  notifications.on('quotas', invalidate);
  notifications.onGap(() => {
    messageQuotas.invalidateAll();
    contactQuota.invalidateAll();
  });
  return {
    workspaceQuotas: new WorkspaceQuotas({ pool, clock, effective: read, onChange: invalidate }),
    messageQuotas,
    contactQuota,
    workspaceBrakes: new WorkspaceBrakes({ pool, clock, settings: brake, onChange: invalidate }),
  };
}
