import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { EventType } from '../events/event-types.ts';
import { eventBody } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { postSigned } from './attempt-webhook.ts';
import type { EndpointCache } from './endpoint-cache.ts';
import type { PostWebhook } from './webhook-client.ts';

import { notFound } from './webhooks.ts';

/**
 * Sends a sample event to an endpoint and returns the response. It is signed like any event, is not
 * stored in the event log, is not retried, and works for disabled endpoints.
 */
export interface TesterParts {
  endpoints: EndpointCache;
  post: PostWebhook;
  clock: Clock;
  userAgent: string;
}

/** A receiver may use the whole deadline, so concurrent tests are limited. */
const RUNNING_MAX = 50;
const RUNNING_PER_WORKSPACE_MAX = 4;

export class WebhookTester {
  readonly #parts: TesterParts;
  readonly #running = new Map<string, number>();
  #runningTotal = 0;

  constructor(parts: TesterParts) {
    this.#parts = parts;
  }

  async test(scope: TenantScope, id: string, sample: { type: EventType; data: object }) {
    const { endpoints, clock } = this.#parts;
    const endpoint = await endpoints.read(scope, id);
    if (!endpoint) throw notFound();
    const nowMs = clock.now();
    const eventId = uuidv7(nowMs);
    const body = eventBody({
      id: eventId,
      type: sample.type,
      mode: scope.mode,
      createdAtMs: nowMs,
      sequence: sample.type.startsWith('message.') ? 1 : null,
      data: JSON.stringify(sample.data),
    });
    const name = encodeId('evt', eventId);
    const { response, headers } = await this.#limited(scope.workspaceId, () =>
      postSigned(this.#parts, endpoint, name, Buffer.from(body)),
    );
    return {
      succeeded: response.error === null,
      status: response.status,
      duration_ms: response.durationMs,
      error: response.error,
      response_body: response.body,
      url: endpoint.url.href,
      request_headers: headers,
      body,
    };
  }

  async #limited<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(workspaceId) ?? 0;
    if (running >= RUNNING_PER_WORKSPACE_MAX || this.#runningTotal >= RUNNING_MAX) {
      const detail = 'Too many webhook tests are running. Try again in a moment.';
      throw new RefusedError('rate_limited', detail, { retryAfterSeconds: 5 });
    }
    this.#running.set(workspaceId, running + 1);
    this.#runningTotal += 1;
    try {
      return await work();
    } finally {
      this.#runningTotal -= 1;
      const left = (this.#running.get(workspaceId) ?? 1) - 1;
      if (left === 0) this.#running.delete(workspaceId);
      else this.#running.set(workspaceId, left);
    }
  }
}
