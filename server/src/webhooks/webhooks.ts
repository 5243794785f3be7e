import { isDeepStrictEqual } from 'node:util';
import { requireAuditScope } from '../accounts/audit-scope.ts';
import type { Caller } from '../accounts/caller.ts';
import type { TenantScope } from '../accounts/tenant-scope.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import { isAuditType } from '../events/event-types.ts';
import type { Encryptor } from '../lib/crypto/encryption.ts';
import { encodeId, uuidTime, uuidv7 } from '../lib/ids.ts';
import { type FieldError, invalidFields, RefusedError } from '../lib/refused-error.ts';
import { type Clock, pause } from '../lib/time/clock.ts';
import { timeOrNull } from '../lib/time/rfc3339.ts';
import { FORMATS, sendsInboundContent, subscribedTypes } from './formats/formats.ts';
import { certificatePath, topicArn } from './formats/ses-sns.ts';
import { type NewSigningKey, newSigningKey } from './formats/signing-key.ts';
import type { WebhookFormatName } from './formats/webhook-format.ts';
import {
  type CustomHeaders,
  changeHeaders,
  type HeaderChange,
  redactHeaders,
} from './requests/custom-headers.ts';
import type { TargetGuard } from './requests/target-guard.ts';
import {
  ALLOW_PRIVATE_HINT,
  hostOf,
  parseTarget,
  splitCredentials,
  type TargetRules,
} from './requests/target-url.ts';
import {
  countWebhooks,
  deleteWebhook,
  findPublicKey,
  findWebhook,
  insertSecret,
  insertWebhook,
  listWebhooks,
  retireSecrets,
  updateWebhook,
  type Webhook,
} from './webhook-store.ts';

/**
 * Webhook endpoints: create, change, rotate secrets, remove. Input comes from tenants; what is
 * stored has a URL that may be reached, headers that may be sent, and a secret that was shown once.
 * Delivery (webhook-dispatcher.ts) follows the event log and reads what is stored here.
 *
 * An endpoint for audit events receives nothing else, and stays one. So its URL, its secret and what
 * it received are only ever in the hands of callers who may read the audit log.
 */

export interface NewWebhook {
  url: string;
  events?: readonly string[];
  /** Keys of existing streams; empty for all. */
  streams?: readonly string[];
  description?: string;
  format?: WebhookFormatName;
  enabled?: boolean;
  headers?: HeaderChange;
}

/** The format is fixed: another one has another kind of key. */
export type WebhookChange = Partial<Omit<NewWebhook, 'format'>>;

export interface WebhooksParts {
  pool: Pool;
  clock: Clock;
  encryptor: Encryptor;
  guard: TargetGuard;
  rules: TargetRules;
  baseUrl: string;
}

/** The caller of the API, whose scopes decide about endpoints for audit events. */
export type EndpointCaller = TenantScope & Pick<Caller, 'scopes'>;

export const ENDPOINTS_MAX = 50;
const GRACE_MAX_SECONDS = 30 * 24 * 60 * 60;
/** Unresponsive name servers must not block the request: the guard checks at connect as well. */
const RESOLVE_WITHIN_MS = 2_000;

export class Webhooks {
  readonly #parts: WebhooksParts;

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
  }

  /** The secret is returned here and nowhere else. */
  async create(
    scope: EndpointCaller,
    wanted: NewWebhook,
  ): Promise<{ webhook: Webhook; secret: string }> {
    const { pool, clock } = this.#parts;
    const { format = 'postrider' } = wanted;
    const given = { ...wanted, events: wanted.events ?? ['*'] };
    const { url, headers, events } = await this.#check(scope, given, {
      headers: {},
      format,
      events: given.events,
    });
    const nowMs = clock.now();
    const key = await newSigningKey(FORMATS[format].keys);
    const stored = this.#encryptKey(key, nowMs);
    const webhook: Webhook = {
      workspaceId: scope.workspaceId,
      mode: scope.mode,
      id: uuidv7(nowMs),
      url: url as string,
      events: events ?? [],
      streams: [...new Set(wanted.streams)],
      description: wanted.description ?? '',
      format,
      enabled: wanted.enabled ?? true,
      encryptedHeaders: this.#encryptHeaders(headers),
      revision: 1,
      failingSinceMs: null,
      disabledAtMs: null,
      disabledReason: null,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      keyId: stored.id,
      publicKey: key.publicKey,
      waitingEvents: 0,
      oldestWaitingId: null,
    };
    await inTransaction(pool, async (client) => {
      await lockForTransaction(client, 'webhooks', scope.workspaceId);
      if ((await countWebhooks(client, scope)) >= ENDPOINTS_MAX) {
        throw new RefusedError('conflict', `A mode can have at most ${ENDPOINTS_MAX} endpoints.`);
      }
      await insertWebhook(client, webhook);
      await insertSecret(client, scope, webhook.id, stored);
    });
    return { webhook, secret: key.shown };
  }

  /** The errors in the given fields, when the other fields of the endpoint could not be parsed. */
  fieldErrors(
    { mode }: Pick<TenantScope, 'mode'>,
    { url, headers = {} }: WebhookChange,
  ): FieldError[] {
    const split = url === undefined ? undefined : splitCredentials(url);
    const target = split && parseTarget(split.url, mode, this.#parts.rules);
    const { errors } = changeHeaders({}, { ...headers, ...split?.headers });
    return target === undefined || target.ok ? errors : [...errors, urlError(target)];
  }

  async get(scope: TenantScope, id: string): Promise<Webhook> {
    return orNotFound(await findWebhook(this.#parts.pool, scope, id));
  }

  /** The endpoint, if the caller may also change it and read what it received. */
  async getManaged(scope: EndpointCaller, id: string): Promise<Webhook> {
    const webhook = await this.get(scope, id);
    requireAuditScope(scope, webhook.events);
    requireInboundScope(scope, webhook);
    return webhook;
  }

  list(scope: TenantScope, page: { before?: string; limit: number }): Promise<Webhook[]> {
    return listWebhooks(this.#parts.pool, scope, page);
  }

  async change(scope: EndpointCaller, id: string, change: WebhookChange): Promise<Webhook> {
    const { pool, clock } = this.#parts;
    const now = await this.getManaged(scope, id);
    const stored = { headers: this.headersOf(now), format: now.format, events: now.events };
    const { url, events, credentials } = await this.#check(scope, change, stored);
    return inTransaction(pool, async (client) => {
      const before = orNotFound(await findWebhook(client, scope, id, 'for update'));
      const headersBefore = this.headersOf(before);
      const { headers, errors } = changeHeaders(headersBefore, {
        ...change.headers,
        ...credentials,
      });
      throwIfInvalid(errors);
      const sameHeaders = isDeepStrictEqual(headers, headersBefore);
      const enabled = change.enabled ?? before.enabled;
      const turned = enabled !== before.enabled;
      const moved = url !== undefined && url !== before.url;
      const nowMs = clock.now();
      const changed: Webhook = {
        ...before,
        url: url ?? before.url,
        events: events ?? before.events,
        streams: change.streams ? [...new Set(change.streams)] : before.streams,
        description: change.description ?? before.description,
        enabled,
        // Encrypting the same value twice gives different results.
        encryptedHeaders: sameHeaders ? before.encryptedHeaders : this.#encryptHeaders(headers),
        failingSinceMs: (turned && enabled) || moved ? null : before.failingSinceMs,
        disabledAtMs: enabled ? null : turned ? nowMs : before.disabledAtMs,
        disabledReason: enabled ? null : turned ? 'manual' : before.disabledReason,
      };
      if (isDeepStrictEqual(changed, before)) return before;
      const webhook = { ...changed, updatedAtMs: nowMs };
      await updateWebhook(client, webhook);
      return webhook;
    });
  }

  async remove(scope: EndpointCaller, id: string): Promise<void> {
    await this.getManaged(scope, id);
    if (!(await deleteWebhook(this.#parts.pool, scope, id))) throw notFound();
  }

  /** Creates a new secret; the previous one stays valid during the grace period. */
  async rotateSecret(
    scope: EndpointCaller,
    id: string,
    graceSeconds: number,
  ): Promise<{ webhook: Webhook; secret: string; previousEndsAtMs: number }> {
    const { pool, clock } = this.#parts;
    const nowMs = clock.now();
    const previousEndsAtMs = nowMs + Math.min(graceSeconds, GRACE_MAX_SECONDS) * 1000;
    const { format } = await this.getManaged(scope, id);
    const key = await newSigningKey(FORMATS[format].keys);
    const { shown: secret, publicKey } = key;
    const stored = this.#encryptKey(key, nowMs);
    return inTransaction(pool, async (client) => {
      const before = orNotFound(await findWebhook(client, scope, id, 'for update'));
      await retireSecrets(client, scope, id, previousEndsAtMs);
      await insertSecret(client, scope, id, stored);
      const webhook = { ...before, keyId: stored.id, publicKey, updatedAtMs: nowMs };
      await updateWebhook(client, webhook);
      return { webhook, secret, previousEndsAtMs };
    });
  }

  /** A certificate that verifies messages in the format `ses-sns`, and its endpoint. */
  async findCertificate(
    keyId: string,
  ): Promise<{ webhookId: string; certificate: string } | undefined> {
    const found = await findPublicKey(this.#parts.pool, keyId);
    if (!found?.publicKey.startsWith('-----BEGIN CERTIFICATE')) return undefined;
    return { webhookId: found.webhookId, certificate: found.publicKey };
  }

  /** With their values: for sending, never for responses. */
  headersOf(webhook: Webhook): CustomHeaders {
    if (!webhook.encryptedHeaders) return {};
    return JSON.parse(
      this.#parts.encryptor.decrypt(webhook.encryptedHeaders).toString(),
    ) as CustomHeaders;
  }

  /** The endpoint as the API returns it. */
  publicWebhook(webhook: Webhook) {
    return {
      id: encodeId('whk', webhook.id),
      url: webhook.url,
      events: webhook.events,
      streams: webhook.streams,
      description: webhook.description,
      format: webhook.format,
      ...this.#verification(webhook),
      enabled: webhook.enabled,
      headers: redactHeaders(this.headersOf(webhook)),
      mode: webhook.mode,
      created_at: new Date(webhook.createdAtMs).toISOString(),
      updated_at: new Date(webhook.updatedAtMs).toISOString(),
      failing_since: timeOrNull(webhook.failingSinceMs),
      disabled_at: timeOrNull(webhook.disabledAtMs),
      disabled_reason: webhook.disabledReason,
      waiting_events: webhook.waitingEvents,
      waiting_since: timeOrNull(
        webhook.oldestWaitingId === null ? null : uuidTime(webhook.oldestWaitingId),
      ),
    };
  }

  /** What receivers in formats with a key pair need to verify messages. */
  #verification({ id, format, keyId, publicKey }: Webhook) {
    const isSns = format === 'ses-sns';
    return {
      public_key: format === 'sendgrid' ? publicKey : null,
      topic_arn: isSns ? topicArn(id) : null,
      signing_cert_url: isSns ? this.#parts.baseUrl + certificatePath(keyId) : null,
    };
  }

  async #check(
    scope: EndpointCaller,
    wanted: WebhookChange,
    before: { headers: CustomHeaders; format: WebhookFormatName; events: readonly string[] },
  ): Promise<{
    url: string | undefined;
    headers: CustomHeaders;
    credentials: HeaderChange;
    events: string[] | undefined;
  }> {
    const split = wanted.url === undefined ? undefined : splitCredentials(wanted.url);
    const credentials = split?.headers ?? {};
    const { headers, errors } = changeHeaders(before.headers, {
      ...wanted.headers,
      ...credentials,
    });
    const subscribed = wanted.events && subscribedTypes(before.format, wanted.events);
    if (subscribed && subscribed.unsupported.length > 0) {
      const detail = `The format ${before.format} has no equivalent of ${subscribed.unsupported.join(', ')}.`;
      errors.push({ pointer: '/events', code: 'no_equivalent', detail });
    }
    const { events = before.events } = wanted;
    requireAuditScope(scope, events);
    requireInboundScope(scope, { format: before.format, events });
    if (!events.every((type) => isAuditType(type) === isAuditType(before.events[0] as string))) {
      const detail =
        'An endpoint receives either audit events or others, and cannot be changed from one to the other.';
      errors.push({ pointer: '/events', code: 'audit_only', detail });
    }
    let url: string | undefined;
    if (split) {
      const target = parseTarget(split.url, scope.mode, this.#parts.rules);
      const mistake = target.ok ? await this.#checkResolvedTarget(target.url) : target;
      if (mistake) errors.push(urlError(mistake));
      else if (target.ok) url = target.url.href;
    }
    throwIfInvalid(errors);
    return { url, headers, credentials, events: subscribed?.events };
  }

  /** A host that does not resolve yet is accepted: the guard checks at connect as well. */
  async #checkResolvedTarget(url: URL): Promise<{ code: string; detail: string } | undefined> {
    const { guard, clock } = this.#parts;
    const tooLate = new AbortController();
    const resolved = await Promise.race([
      guard.resolve(hostOf(url)),
      pause(clock, RESOLVE_WITHIN_MS, tooLate.signal),
    ]);
    tooLate.abort();
    if (resolved?.kind !== 'refused') return undefined;
    const detail = `${hostOf(url)} resolves to ${resolved.address}, which is not a public address. ${ALLOW_PRIVATE_HINT}`;
    return { code: 'private_target', detail };
  }

  #encryptHeaders(headers: CustomHeaders): Buffer | null {
    if (Object.keys(headers).length === 0) return null;
    return this.#parts.encryptor.encrypt(Buffer.from(JSON.stringify(headers)));
  }

  #encryptKey({ secret, publicKey }: NewSigningKey, nowMs: number) {
    return { id: uuidv7(nowMs), encryptedSecret: this.#parts.encryptor.encrypt(secret), publicKey };
  }
}

export function notFound(): RefusedError {
  return new RefusedError('not_found', 'No such webhook endpoint.');
}

function orNotFound(webhook: Webhook | undefined): Webhook {
  if (!webhook) throw notFound();
  return webhook;
}

function throwIfInvalid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidFields(errors);
}

function urlError({ code, detail }: { code: string; detail: string }): FieldError {
  return { pointer: '/url', code, detail };
}

/** An endpoint that receives the content of inbound messages is a way to read them. */
function requireInboundScope(
  { scopes }: EndpointCaller,
  { format, events }: { format: WebhookFormatName; events: readonly string[] },
): void {
  if (!sendsInboundContent(format, events) || scopes.has('read:inbound_messages')) return;
  const detail = `With the format ${format}, inbound_message.received contains the whole message and requires read:inbound_messages.`;
  throw new RefusedError('insufficient_scope', detail, {
    fix: 'Use a key with read:inbound_messages.',
  });
}
