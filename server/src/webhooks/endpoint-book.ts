import type { Pool } from '../db/pool.ts';
import { createHmacSha256, type Hmac } from '../lib/hmac.ts';
import type { Sealer } from '../lib/sealer.ts';
import type { ExtraHeaders } from './extra-headers.ts';
import { refusedByRules, type TargetRules } from './target-url.ts';
import { findWebhook, readSecrets, type Scope } from './webhook-store.ts';

/** An endpoint as it is sent to. */
export interface Endpoint {
  scope: Scope;
  id: string;
  revision: number;
  enabled: boolean;
  url: URL;
  /** Why the operator does not want it sent to, though it was taken once. */
  refusal: string | undefined;
  headers: ExtraHeaders;
  /** Those that sign now, newest first. */
  secretsAt(nowMs: number): Hmac[];
}

/**
 * Endpoints with their secrets, opened and remembered. A row that is taken from the queue tells the
 * revision of its endpoint, so what is remembered is never older than the row.
 */
export class EndpointBook {
  readonly #pool: Pool;
  readonly #sealer: Sealer;
  readonly #rules: TargetRules;
  readonly #known = new Map<
    string,
    { revision: number; endpoint: Promise<Endpoint | undefined> }
  >();

  constructor(parts: { pool: Pool; sealer: Sealer; rules: TargetRules }) {
    this.#pool = parts.pool;
    this.#sealer = parts.sealer;
    this.#rules = parts.rules;
  }

  /** Undefined when there is no such endpoint any more. */
  find(scope: Scope, id: string, revision: number): Promise<Endpoint | undefined> {
    const known = this.#known.get(id);
    if (known && known.revision >= revision) return known.endpoint;
    const endpoint = this.read(scope, id);
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    this.#known.set(id, { revision, endpoint });
    // What could not be read, or is gone, is asked for anew.
    const forget = (): void => {
      if (this.#known.get(id)?.endpoint === endpoint) this.#known.delete(id);
    };
    endpoint.then((found) => found ?? forget(), forget);
    return endpoint;
  }

  async read(scope: Scope, id: string): Promise<Endpoint | undefined> {
    const webhook = await findWebhook(this.#pool, scope, id);
    if (!webhook) return undefined;
    const secrets = (await readSecrets(this.#pool, scope, id)).map((stored) => ({
      secret: createHmacSha256(this.#sealer.open(stored.sealedSecret)),
      endsAtMs: stored.endsAtMs ?? Number.POSITIVE_INFINITY,
    }));
    const { sealedHeaders, mode } = webhook;
    const url = new URL(webhook.url);
    return {
      scope: { workspaceId: webhook.workspaceId, mode },
      id,
      revision: webhook.revision,
      enabled: webhook.enabled,
      url,
      refusal: refusedByRules(url, mode, this.#rules)?.detail,
      headers: sealedHeaders ? JSON.parse(this.#sealer.open(sealedHeaders).toString()) : {},
      secretsAt: (nowMs) =>
        secrets.filter(({ endsAtMs }) => endsAtMs > nowMs).map(({ secret }) => secret),
    };
  }
}

const KNOWN_MAX = 10_000;
