/** From the least finished to the most. */
const LEAST_FINISHED_FIRST: readonly DeliveryStatus[] = ['scheduled', 'deferred', 'queued'];

/**
 * A message has the status of its recipient. With several recipients it has the least finished
 * status; when all are final, their common status, or `partial` if they differ.
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
