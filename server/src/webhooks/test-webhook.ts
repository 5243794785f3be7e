import type { EventType } from '../events/event-types.ts';
import { eventBody } from '../events/events-store.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { postSigned } from './attempt-webhook.ts';
import type { EndpointCache } from './endpoint-cache.ts';
import type { PostWebhook } from './webhook-client.ts';
import type { Scope } from './webhook-store.ts';
import { notFound } from './webhooks.ts';

/**
 * Sends a sample to an endpoint and answers with what the receiver said. It is signed like any
 * event, is in no ledger, is not repeated, and works on an endpoint that is switched off.
 */
export interface TesterParts {
  endpoints: EndpointCache;
  post: PostWebhook;
  clock: Clock;
  userAgent: string;
}

/** A receiver may keep us waiting for the whole deadline; waiting callers must not pile up. */
const RUNNING_MAX = 50;
const RUNNING_PER_WORKSPACE_MAX = 4;

export class WebhookTester {
  readonly #parts: TesterParts;
  readonly #running = new Map<string, number>();
  #runningTotal = 0;

  constructor(parts: TesterParts) {
    this.#parts = parts;
  }

  async test(scope: Scope, id: string, sample: { type: EventType; data: object }) {
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
    const { posted, headers } = await this.#limited(scope.workspaceId, () =>
      postSigned(this.#parts, endpoint, name, Buffer.from(body)),
    );
    return {
      succeeded: posted.error === null,
      status: posted.status,
      duration_ms: posted.durationMs,
      error: posted.error,
      response_body: posted.body,
      url: endpoint.url.href,
      request_headers: headers,
      body,
    };
  }

  async #limited<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(workspaceId) ?? 0;
    if (running >= RUNNING_PER_WORKSPACE_MAX || this.#runningTotal >= RUNNING_MAX) {
      const detail = 'Other tests are still waiting for their receivers. Try again in a moment.';
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
