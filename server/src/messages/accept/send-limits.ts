/** Limits on one send. The operator configures them; GET /limits publishes them. */
export interface SendLimits {
  messageBytesMax: number;
  htmlBytesMax: number;
  textBytesMax: number;
  subjectBytesMax: number;
  recipientsMax: number;
  headersMax: number;
  headerBytesMax: number;
  batchMax: number;
  scheduleAheadMs: number;
  retryWindowMs: number;
}

const DAY_MS = 24 * 60 * 60 * 1000;

export const DEFAULT_SEND_LIMITS: SendLimits = {
  messageBytesMax: 25 * 1024 * 1024,
  htmlBytesMax: 2 * 1024 * 1024,
  textBytesMax: 2 * 1024 * 1024,
  subjectBytesMax: 998,
  recipientsMax: 50,
  headersMax: 20,
  headerBytesMax: 2048,
  batchMax: 500,
  scheduleAheadMs: 30 * DAY_MS,
  retryWindowMs: 3 * DAY_MS,
};

/** How long a message is retried before it expires. */
export function deliveryWindowMs(
  limits: Pick<SendLimits, 'retryWindowMs'>,
  ttlSeconds: number | null,
): number {
  return Math.min(limits.retryWindowMs, (ttlSeconds ?? Infinity) * 1000);
}
