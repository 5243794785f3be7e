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

/** Pending statuses, from the least to the most finished. All others are final. */
const PENDING: readonly DeliveryStatus[] = ['scheduled', 'deferred', 'queued'];

export function isPending(status: string): boolean {
  return (PENDING as readonly string[]).includes(status);
}

/**
 * A message has the status of its recipient. With several recipients it has the least finished
 * status; when all are final, their common status, or `partial` if they differ.
 */
export function messageStatus(statuses: readonly DeliveryStatus[]): MessageStatus {
  for (const status of PENDING) if (statuses.includes(status)) return status;
  const first = statuses[0] ?? 'failed';
  return statuses.every((status) => status === first) ? first : 'partial';
}
