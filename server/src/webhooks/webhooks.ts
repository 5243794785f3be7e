import { isDeepStrictEqual } from 'node:util';
import { inTransaction, type Pool } from '../db/pool.ts';
import { takeTurn } from '../db/take-turn.ts';
import { type Clock, pause } from '../lib/clock.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { type FieldError, invalidFields, RefusedError } from '../lib/refused-error.ts';
import type { Sealer } from '../lib/sealer.ts';
import {
  changeHeaders,
  type ExtraHeaders,
  type HeaderChange,
  hiddenHeaders,
} from './extra-headers.ts';
import { newSecret, secretText } from './secrets.ts';
import type { TargetGuard } from './target-guard.ts';
import { HOW_ALLOWED, hostOf, parseTarget, type TargetRules } from './target-url.ts';
import {
  countWebhooks,
  deleteWebhook,
  findWebhook,
  insertSecret,
  insertWebhook,
  listWebhooks,
  retireSecrets,
  type Scope,
  updateWebhook,
  type Webhook,
} from './webhook-store.ts';

/**
 * Webhook endpoints: made, changed, given new secrets, removed. What comes in is a wish of a tenant;
 * what is stored has an address that may be reached, headers that may be sent, and a secret that was
 * shown once. Delivery (dispatcher.ts) follows the ledger by itself and reads what is stored here.
 */

export interface NewWebhook {
  url: string;
  events?: readonly string[];
  description?: string;
  enabled?: boolean;
  headers?: HeaderChange;
}

export type WebhookChange = Partial<NewWebhook>;

export interface WebhooksParts {
  pool: Pool;
  clock: Clock;
  sealer: Sealer;
  guard: TargetGuard;
  rules: TargetRules;
}

export const ENDPOINTS_MAX = 50;
const GRACE_MAX_SECONDS = 30 * 24 * 60 * 60;
/** Name servers that are silent must not make an owner wait: the guard stands at connect as well. */
const RESOLVE_WITHIN_MS = 2_000;

export class Webhooks {
  readonly #parts: WebhooksParts;

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
  }

  /** The secret is in the answer and nowhere else. */
  async create(scope: Scope, wanted: NewWebhook): Promise<{ webhook: Webhook; secret: string }> {
    const { pool, clock } = this.#parts;
    const { url, headers } = await this.#check(scope, wanted, {});
    const nowMs = clock.now();
    const secret = newSecret();
    const webhook: Webhook = {
      workspaceId: scope.workspaceId,
      mode: scope.mode,
      id: uuidv7(nowMs),
      url: url as string,
      events: [...new Set(wanted.events ?? ['*'])],
      description: wanted.description ?? '',
      enabled: wanted.enabled ?? true,
      sealedHeaders: this.#seal(headers),
      revision: 1,
      failingSinceMs: null,
      disabledAtMs: null,
      disabledReason: null,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
    await inTransaction(pool, async (client) => {
      await takeTurn(client, 'webhooks', scope.workspaceId);
      if ((await countWebhooks(client, scope)) >= ENDPOINTS_MAX) {
        throw new RefusedError('conflict', `There are at most ${ENDPOINTS_MAX} endpoints a mode.`);
      }
      await insertWebhook(client, webhook);
      await insertSecret(client, scope, webhook.id, this.#sealed(secret, nowMs));
    });
    return { webhook, secret: secretText(secret) };
  }

  /** What is wrong with the fields that are there, of an endpoint whose other fields cannot be read. */
  faultsIn({ mode }: Pick<Scope, 'mode'>, { url, headers = {} }: WebhookChange): FieldError[] {
    const target = url === undefined ? undefined : parseTarget(url, mode, this.#parts.rules);
    const { errors } = changeHeaders({}, headers);
    return target === undefined || target.ok ? errors : [...errors, urlFault(target)];
  }

  async get(scope: Scope, id: string): Promise<Webhook> {
    return known(await findWebhook(this.#parts.pool, scope, id));
  }

  list(scope: Scope, page: { before?: string; limit: number }): Promise<Webhook[]> {
    return listWebhooks(this.#parts.pool, scope, page);
  }

  async change(scope: Scope, id: string, change: WebhookChange): Promise<Webhook> {
    const { pool, clock } = this.#parts;
    const now = known(await findWebhook(pool, scope, id));
    const { url } = await this.#check(scope, change, this.headersOf(now));
    return inTransaction(pool, async (client) => {
      const before = known(await findWebhook(client, scope, id, 'for update'));
      const headersBefore = this.headersOf(before);
      const { headers, errors } = changeHeaders(headersBefore, change.headers ?? {});
      refuse(errors);
      const sameHeaders = isDeepStrictEqual(headers, headersBefore);
      const enabled = change.enabled ?? before.enabled;
      const turned = enabled !== before.enabled;
      const moved = url !== undefined && url !== before.url;
      const nowMs = clock.now();
      const changed: Webhook = {
        ...before,
        url: url ?? before.url,
        events: change.events ? [...new Set(change.events)] : before.events,
        description: change.description ?? before.description,
        enabled,
        // Sealing the same twice gives two texts.
        sealedHeaders: sameHeaders ? before.sealedHeaders : this.#seal(headers),
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

  async remove(scope: Scope, id: string): Promise<void> {
    if (!(await deleteWebhook(this.#parts.pool, scope, id))) throw notFound();
  }

  /** A new secret; the one before signs as well until the grace period is over. */
  async rotateSecret(
    scope: Scope,
    id: string,
    graceSeconds: number,
  ): Promise<{ webhook: Webhook; secret: string; previousEndsAtMs: number }> {
    const { pool, clock } = this.#parts;
    const nowMs = clock.now();
    const previousEndsAtMs = nowMs + Math.min(graceSeconds, GRACE_MAX_SECONDS) * 1000;
    const secret = newSecret();
    return inTransaction(pool, async (client) => {
      const before = known(await findWebhook(client, scope, id, 'for update'));
      await retireSecrets(client, scope, id, previousEndsAtMs);
      await insertSecret(client, scope, id, this.#sealed(secret, nowMs));
      const webhook = { ...before, updatedAtMs: nowMs };
      await updateWebhook(client, webhook);
      return { webhook, secret: secretText(secret), previousEndsAtMs };
    });
  }

  /** With their values: for sending, never for answers. */
  headersOf(webhook: Webhook): ExtraHeaders {
    if (!webhook.sealedHeaders) return {};
    return JSON.parse(this.#parts.sealer.open(webhook.sealedHeaders).toString()) as ExtraHeaders;
  }

  /** What users see; in API answers and on screens. */
  publicWebhook(webhook: Webhook) {
    return {
      id: encodeId('whk', webhook.id),
      url: webhook.url,
      events: webhook.events,
      description: webhook.description,
      enabled: webhook.enabled,
      headers: hiddenHeaders(this.headersOf(webhook)),
      mode: webhook.mode,
      created_at: new Date(webhook.createdAtMs).toISOString(),
      updated_at: new Date(webhook.updatedAtMs).toISOString(),
      failing_since: timeOrNull(webhook.failingSinceMs),
      disabled_at: timeOrNull(webhook.disabledAtMs),
      disabled_reason: webhook.disabledReason,
    };
  }

  async #check(
    scope: Scope,
    wanted: WebhookChange,
    headersBefore: ExtraHeaders,
  ): Promise<{ url: string | undefined; headers: ExtraHeaders }> {
    const { headers, errors } = changeHeaders(headersBefore, wanted.headers ?? {});
    let url: string | undefined;
    if (wanted.url !== undefined) {
      const target = parseTarget(wanted.url, scope.mode, this.#parts.rules);
      const mistake = target.ok ? await this.#whereItLeads(target.url) : target;
      if (mistake) errors.push(urlFault(mistake));
      else if (target.ok) url = target.url.href;
    }
    refuse(errors);
    return { url, headers };
  }

  /** A host that nobody knows yet is taken: it may come, and the guard stands at connect as well. */
  async #whereItLeads(url: URL): Promise<{ code: string; detail: string } | undefined> {
    const { guard, clock } = this.#parts;
    const tooLate = new AbortController();
    const resolved = await Promise.race([
      guard.resolve(hostOf(url)),
      pause(clock, RESOLVE_WITHIN_MS, tooLate.signal),
    ]);
    tooLate.abort();
    if (resolved?.kind !== 'refused') return undefined;
    const detail = `${hostOf(url)} leads to ${resolved.address}, which is not on the public internet. ${HOW_ALLOWED}`;
    return { code: 'private_target', detail };
  }

  #seal(headers: ExtraHeaders): Buffer | null {
    if (Object.keys(headers).length === 0) return null;
    return this.#parts.sealer.seal(Buffer.from(JSON.stringify(headers)));
  }

  #sealed(secret: Buffer, nowMs: number): { id: string; sealedSecret: Buffer } {
    return { id: uuidv7(nowMs), sealedSecret: this.#parts.sealer.seal(secret) };
  }
}

export function notFound(): RefusedError {
  return new RefusedError('not_found', 'There is no webhook endpoint with this id.');
}

function known(webhook: Webhook | undefined): Webhook {
  if (!webhook) throw notFound();
  return webhook;
}

function refuse(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidFields(errors);
}

function urlFault({ code, detail }: { code: string; detail: string }): FieldError {
  return { pointer: '/url', code, detail };
}

function timeOrNull(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
