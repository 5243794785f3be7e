import type { NotificationListener } from '../db/connections/listen.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { Clock } from '../lib/time/clock.ts';
import { type BrakeSettings, effectiveQuotas, probationEndOf } from './brake.ts';
import { CountedQuota, type CountedQuotaParts } from './counted-quota.ts';
import { type CountedQuotaName, CountedQuotaNotices } from './counted-quota-notices.ts';
import { type CurrentQuotas, MessageQuotas } from './message-quotas.ts';
import { contactQuotaExceeded, contentQuotaExceeded, NO_QUOTAS } from './quota.ts';
import { findQuotaContext } from './quota-context-store.ts';
import { QuotaLeases } from './quota-leases.ts';
import { countContacts, readContentBytes } from './quota-store.ts';
import { SendQuotas } from './send-quotas.ts';
import { WorkspaceBrakes } from './workspace-brakes.ts';
import { WorkspaceQuotas } from './workspace-quotas.ts';

export interface QuotaServices {
  workspaceQuotas: WorkspaceQuotas;
  messageQuotas: MessageQuotas;
  contentQuota: CountedQuota;
  contactQuota: CountedQuota;
  sendQuotas: SendQuotas;
  workspaceBrakes: WorkspaceBrakes;
  /** Publishes which workspaces have nearly or fully used their quotas of contacts and content. */
  publishQuotaNotices: () => Promise<void>;
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
  const read = async (workspaceId: string): Promise<CurrentQuotas> => {
    const found = await findQuotaContext(pool, workspaceId);
    if (!found) return { quotas: undefined, endsAtMs: Infinity };
    const nowMs = clock.now();
    return {
      quotas: effectiveQuotas(found.quotas, NO_QUOTAS, found.context, brake, nowMs),
      endsAtMs: probationEndOf(found.context, brake, nowMs) ?? Infinity,
    };
  };
  const leases = new QuotaLeases({ pool, clock, onEventsAppended });
  const messageQuotas = new MessageQuotas({
    clock,
    maxAgeMs: () => notifications.cacheMaxAgeMs,
    read,
    lease: (workspaceId, quotas, messages) => leases.lease(workspaceId, quotas, messages),
    giveBack: (workspaceId, hourMs, messages) => leases.giveBack(workspaceId, hourMs, messages),
  });
  const quotasOf = (workspaceId: string) => messageQuotas.quotasOf(workspaceId);
  const counted = (
    name: CountedQuotaName,
    count: CountedQuotaParts['count'],
    refuse: CountedQuotaParts['refuse'],
  ) => {
    const limitOf = async (workspaceId: string) => {
      const quotas = await quotasOf(workspaceId);
      const limit = quotas?.[name] ?? null;
      return quotas && limit !== null
        ? { limit, warnAtPercent: quotas.warn_at_percent }
        : undefined;
    };
    const notices = new CountedQuotaNotices({
      ...{ pool, clock, name, limitOf, count, onEventsAppended },
    });
    const quota = new CountedQuota({
      ...{ clock, count, refuse, notices },
      limitOf: async (workspaceId) => (await quotasOf(workspaceId))?.[name] ?? null,
    });
    return { quota, notices };
  };
  const countContentBytes = (workspaceId: string): Promise<number> =>
    readContentBytes(pool, workspaceId, startOfDay(clock.now()) - contentDays * DAY_MS);
  const contacts = counted(
    'contacts',
    (workspaceId, max) => countContacts(pool, workspaceId, max),
    contactQuotaExceeded,
  );
  const content = counted('content_bytes', countContentBytes, contentQuotaExceeded);
  const invalidate = (workspaceId: string): void => {
    messageQuotas.invalidateWorkspace(workspaceId);
    contacts.quota.invalidateWorkspace(workspaceId);
    content.quota.invalidateWorkspace(workspaceId);
  };
  notifications.on('quotas', invalidate);
  notifications.onGap(() => {
    messageQuotas.invalidateAll();
    contacts.quota.invalidateAll();
    content.quota.invalidateAll();
  });
  return {
    workspaceQuotas: new WorkspaceQuotas({
      pool,
      clock,
      effective: async (workspaceId) => (await read(workspaceId)).quotas,
      countContentBytes,
      onChange: (workspaceId) => {
        invalidate(workspaceId);
        // A lower quota may be nearly used already. The node that serves the request checks it.
        contacts.notices.changed(workspaceId);
        content.notices.changed(workspaceId);
      },
    }),
    messageQuotas,
    contactQuota: contacts.quota,
    contentQuota: content.quota,
    sendQuotas: new SendQuotas({ messages: messageQuotas, contentBytes: content.quota }),
    publishQuotaNotices: async () => {
      await contacts.notices.publish();
      await content.notices.publish();
    },
    workspaceBrakes: new WorkspaceBrakes({ pool, clock, settings: brake, onChange: invalidate }),
  };
}

const DAY_MS = 86_400_000;

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS;
}
