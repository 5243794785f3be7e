import type { TenantScope } from '../../accounts/tenant-scope.ts';
import type { Pool } from '../../db/connections/pool.ts';
import type { Encryptor } from '../../lib/crypto/encryption.ts';
import { FORMATS } from '../formats/formats.ts';
import { loadSigningKey } from '../formats/signing-key.ts';
import type { SigningKey, WebhookFormatName } from '../formats/webhook-format.ts';
import type { CustomHeaders } from '../requests/custom-headers.ts';
import { checkTargetRules, type TargetRules } from '../requests/target-url.ts';
import { findWebhook, readSecrets } from '../webhook-store.ts';

/** An endpoint as the dispatcher needs it. */
export interface Endpoint {
  scope: TenantScope;
  id: string;
  revision: number;
  enabled: boolean;
  url: URL;
  /** Why the operator's rules forbid sending to an endpoint that was accepted earlier. */
  refusal: string | undefined;
  headers: CustomHeaders;
  format: WebhookFormatName;
  /** The keys that are currently valid, newest first. */
  keysAt(nowMs: number): SigningKey[];
}

/**
 * Caches endpoints with their decrypted keys. A claimed row carries the revision of its
 * endpoint, so a cached endpoint is never older than the row.
 */
export class EndpointCache {
  readonly #pool: Pool;
  readonly #encryptor: Encryptor;
  readonly #rules: TargetRules;
  readonly #cached = new Map<
    string,
    { revision: number; endpoint: Promise<Endpoint | undefined> }
  >();

  constructor(parts: { pool: Pool; encryptor: Encryptor; rules: TargetRules }) {
    this.#pool = parts.pool;
    this.#encryptor = parts.encryptor;
    this.#rules = parts.rules;
  }

  /** Undefined when the endpoint no longer exists. */
  find(scope: TenantScope, id: string, revision: number): Promise<Endpoint | undefined> {
    const known = this.#cached.get(id);
    if (known && known.revision >= revision) return known.endpoint;
    const endpoint = this.read(scope, id);
    if (this.#cached.size >= ENDPOINTS_MAX) this.#cached.clear();
    this.#cached.set(id, { revision, endpoint });
    // Failed reads and missing endpoints are not cached.
    const forget = (): void => {
      if (this.#cached.get(id)?.endpoint === endpoint) this.#cached.delete(id);
    };
    endpoint.then((found) => found ?? forget(), forget);
    return endpoint;
  }

  async read(scope: TenantScope, id: string): Promise<Endpoint | undefined> {
    const webhook = await findWebhook(this.#pool, scope, id);
    if (!webhook) return undefined;
    const { encryptedHeaders, mode, format } = webhook;
    const keys = (await readSecrets(this.#pool, scope, id)).map((stored) => ({
      key: loadSigningKey(
        FORMATS[format].keys,
        stored.id,
        this.#encryptor.decrypt(stored.encryptedSecret),
      ),
      endsAtMs: stored.endsAtMs ?? Number.POSITIVE_INFINITY,
    }));
    const url = new URL(webhook.url);
    return {
      scope: { workspaceId: webhook.workspaceId, mode },
      id,
      revision: webhook.revision,
      enabled: webhook.enabled,
      url,
      refusal: checkTargetRules(url, mode, this.#rules)?.detail,
      headers: encryptedHeaders
        ? JSON.parse(this.#encryptor.decrypt(encryptedHeaders).toString())
        : {},
      format,
      keysAt: (nowMs) => keys.filter(({ endsAtMs }) => endsAtMs > nowMs).map(({ key }) => key),
    };
  }
}

const ENDPOINTS_MAX = 10_000;
