/** Limits on one send. The operator configures them; GET /limits publishes them. */
export interface SendLimits {
  messageBytesMax: number;
  htmlBytesMax: number;
  textBytesMax: number;
  subjectBytesMax: number;
  recipientsMax: number;
  headersMax: number;
  headerBytesMax: number;
  /** For all custom headers together. */
  headersBytesMax: number;
  batchMax: number;
  /** Whether a message without text, HTML and attachments is refused. */
  bodyRequired: boolean;
  scheduleAheadMs: number;
  retryWindowMs: number;
}

/**
 * Mail from other programs has headers of every server on its way, and a reply to a long thread has
 * long references. Only the total is limited. It may be a subject without a body.
 */
export function submittedMailLimits(limits: SendLimits): SendLimits {
  return {
    ...limits,
    headersMax: Infinity,
    headerBytesMax: limits.headersBytesMax,
    bodyRequired: false,
  };
}

/** How long a message is retried before it expires. */
export function deliveryWindowMs(
  limits: Pick<SendLimits, 'retryWindowMs'>,
  ttlSeconds: number | null,
): number {
  return Math.min(limits.retryWindowMs, (ttlSeconds ?? Infinity) * 1000);
}

/** Limits without a setting. */
export const METADATA_PAIRS_MAX = 20;
export const TAGS_MAX = 10;
export const TAG_LENGTH_MAX = 255;
