import { hkdfSync } from 'node:crypto';
import type { Config } from '../config/read-config.ts';
import type { ContactLookup } from '../contacts/contact-lookup.ts';
import type { Pool } from '../db/connections/pool.ts';
import type { SenderDomainCache } from '../domains/sender-domain-cache.ts';
import type { PublishedLimits } from '../http/routes/service/get-limits.ts';
import { createEncryptor } from '../lib/crypto/encryption.ts';
import { createHmacSha256 } from '../lib/crypto/hmac.ts';
import type { Clock } from '../lib/time/clock.ts';
import { MessageAcceptor } from '../messages/accept/accept-message.ts';
import { IDEMPOTENCY_MS } from '../messages/accept/accept-store.ts';
import type { DeliveryHandoff } from '../messages/accept/delivery-handoff.ts';
import { Idempotency } from '../messages/accept/idempotency.ts';
import { METADATA_PAIRS_MAX, type SendLimits, TAGS_MAX } from '../messages/accept/send-limits.ts';
import { CONTENT_KEY_PURPOSE } from '../messages/content/message-content.ts';
import type { SendQuotas } from '../quotas/send-quotas.ts';
import type { StreamCache } from '../streams/stream-cache.ts';
import { createAddressHash } from '../suppressions/erased-address.ts';
import type { TemplateCache } from '../templates/template-cache.ts';
import { createTracker } from '../tracking/track-html.ts';
import { TrackingLinks } from '../tracking/tracking-links.ts';
import { UnsubscribeLinks } from '../unsubscribe/unsubscribe-links.ts';
import { returnPathKey } from './build-engine.ts';

export function createIdempotency(pool: Pool, clock: Clock, secretKey: Buffer): Idempotency {
  const hmacKey = Buffer.from(hkdfSync('sha256', secretKey, 'postrider', 'idempotency', 32));
  const encryptor = createEncryptor(secretKey, 'idempotency');
  return new Idempotency({ pool, clock, encryptor, hmac: createHmacSha256(hmacKey) });
}

export interface AcceptGroup {
  itemsMax: number;
  inFlightMax: number;
}

export interface AcceptorOptions {
  pool: Pool;
  clock: Clock;
  config: Config;
  domains: SenderDomainCache;
  templates: TemplateCache;
  streams: StreamCache;
  contacts: ContactLookup;
  handoff: DeliveryHandoff;
  idempotency: Idempotency;
  secretKey: Buffer;
  /** Undefined for sends of the operator. */
  quotas?: SendQuotas | undefined;
  /** Overrides how sends are grouped into commits. */
  group?: AcceptGroup | undefined;
}

/** Builds message acceptance, for the server and for the command `postrider send`. */
export function createAcceptor(options: AcceptorOptions): MessageAcceptor {
  const { pool, clock, config, domains, templates, streams, contacts } = options;
  const { handoff, idempotency } = options;
  const links = createUnsubscribeLinks(config, options.secretKey);
  return new MessageAcceptor({
    pool,
    clock,
    limits: sendLimits(config),
    handoff,
    idempotency,
    quotas: options.quotas,
    senderDomain: (workspaceId, name) => domains.find(workspaceId, name),
    stream: (workspaceId, key) => streams.find(workspaceId, key),
    contact: (workspaceId, mode, key) => contacts.contactFor(workspaceId, mode, key),
    templates,
    track: createTracker({
      links: new TrackingLinks(options.secretKey),
      baseUrl: config.http.baseUrl,
    }),
    unsubscribeLinks: links,
    encryptor: createEncryptor(options.secretKey, CONTENT_KEY_PURPOSE),
    addressHash: createAddressHash(options.secretKey),
    group: {
      itemsMax: 128,
      inFlightMax: 2,
      ...options.group,
      bytesMax: 4 * 1024 * 1024,
      waitingMax: config.limits.acceptBufferMaxMessages,
      waitingBytesMax: config.limits.acceptBufferMaxBytes,
    },
  });
}

export function createUnsubscribeLinks(config: Config, secretKey: Buffer): UnsubscribeLinks {
  return new UnsubscribeLinks({
    secretKey,
    baseUrl: config.http.baseUrl,
    bounceHost: config.returnPath.port === undefined ? undefined : config.domains.bounceHost,
    returnPathKey: returnPathKey(secretKey),
  });
}

export function sendLimits({ limits, delivery }: Config): SendLimits {
  return {
    messageBytesMax: limits.messageMaxBytes,
    htmlBytesMax: limits.contentMaxBytes,
    textBytesMax: limits.contentMaxBytes,
    subjectBytesMax: limits.subjectMaxBytes,
    recipientsMax: limits.recipientsMax,
    headersMax: limits.headersMax,
    headerBytesMax: limits.headerMaxBytes,
    headersBytesMax: limits.headersMax * limits.headerMaxBytes,
    batchMax: limits.batchMax,
    bodyRequired: true,
    scheduleAheadMs: limits.scheduleMaxMs,
    retryWindowMs: delivery.retryWindowMs,
  };
}

export function publishedLimits({ limits, delivery, retention }: Config): PublishedLimits {
  return {
    requests_per_second: limits.ratePerSecond,
    requests_burst: limits.rateBurst,
    request_body_bytes: limits.requestBodyMaxBytes,
    message_bytes: limits.messageMaxBytes,
    html_bytes: limits.contentMaxBytes,
    text_bytes: limits.contentMaxBytes,
    subject_bytes: limits.subjectMaxBytes,
    recipients: limits.recipientsMax,
    batch_messages: limits.batchMax,
    headers: limits.headersMax,
    header_bytes: limits.headerMaxBytes,
    metadata_pairs: METADATA_PAIRS_MAX,
    tags: TAGS_MAX,
    schedule_ahead_seconds: limits.scheduleMaxMs / 1000,
    retry_window_seconds: delivery.retryWindowMs / 1000,
    idempotency_seconds: IDEMPOTENCY_MS / 1000,
    content_retention_days: retention.contentDays,
    record_retention_days: retention.recordDays,
    stream_routes: Object.keys(delivery.streamRoutes),
  };
}
