/**
 * A stream is a kind of mail of a workspace: receipts, a digest, announcements. Suppressions can be
 * limited to one, so that leaving a digest does not stop a password reset.
 */
export interface Stream {
  key: string;
  name: string;
  purpose: StreamPurpose;
  /** Null: the setting of the sender's domain. */
  trackOpens: boolean | null;
  trackClicks: boolean | null;
  /** How the sender appears on the page where recipients unsubscribe. */
  brandName: string | null;
  brandLogoUrl: string | null;
  brandColor: string | null;
  /** The sender of mail that names none, neither itself nor in its template. */
  fromEmail: string | null;
  fromName: string | null;
  /** One of the operator's named routes; null for the standard one. */
  route: string | null;
  /** How fast each node sends live mail; null for no limit. */
  messagesPerMinute: number | null;
  /** Null: as long as that of all mail. */
  contentRetentionDays: number | null;
  /** Null for the stream that every workspace has, until it is changed. */
  createdAtMs: number | null;
  updatedAtMs: number | null;
}

/**
 * `transactional`: mail that follows from something the recipient did. `subscription`: mail that the
 * recipient chose to get and can leave.
 */
export const STREAM_PURPOSES = ['transactional', 'subscription'] as const;
export type StreamPurpose = (typeof STREAM_PURPOSES)[number];

/** The stream of mail that names none. */
export const DEFAULT_STREAM_KEY = 'transactional';

/** Every workspace has it without a row. */
export const DEFAULT_STREAM: Readonly<Stream> = {
  key: DEFAULT_STREAM_KEY,
  name: 'Transactional',
  purpose: 'transactional',
  trackOpens: null,
  trackClicks: null,
  brandName: null,
  brandLogoUrl: null,
  brandColor: null,
  fromEmail: null,
  fromName: null,
  route: null,
  messagesPerMinute: null,
  contentRetentionDays: null,
  createdAtMs: null,
  updatedAtMs: null,
};

export function publicStream(stream: Stream) {
  const timeOf = (ms: number | null): string | null =>
    ms === null ? null : new Date(ms).toISOString();
  return {
    key: stream.key,
    name: stream.name,
    purpose: stream.purpose,
    tracking: { opens: stream.trackOpens, clicks: stream.trackClicks },
    brand: {
      name: stream.brandName,
      logo_url: stream.brandLogoUrl,
      color: stream.brandColor,
    },
    from: stream.fromEmail === null ? null : { email: stream.fromEmail, name: stream.fromName },
    route: stream.route,
    messages_per_minute: stream.messagesPerMinute,
    content_retention_days: stream.contentRetentionDays,
    created_at: timeOf(stream.createdAtMs),
    updated_at: timeOf(stream.updatedAtMs),
  };
}
