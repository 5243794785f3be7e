/** From the least finished to the most. */
const LEAST_FINISHED_FIRST: readonly DeliveryStatus[] = ['scheduled', 'deferred', 'queued'];

/**
 * A message's status is that of its one recipient; with several, the least finished one, and when
 * all are final `delivered` if all were, the common one if they agree, else `partial`.
 */
export function messageStatus(statuses: readonly DeliveryStatus[]): MessageStatus {
  for (const status of LEAST_FINISHED_FIRST) if (statuses.includes(status)) return status;
  const first = statuses[0] ?? 'failed';
  return statuses.every((status) => status === first) ? first : 'partial';
}

export type DeliveryStatus =
  | 'scheduled'
  | 'queued'
  | 'deferred'
  | 'delivered'
  | 'bounced'
  | 'expired'
  | 'failed'
  | 'cancelled'
  | 'suppressed';

export type MessageStatus = DeliveryStatus | 'partial';
