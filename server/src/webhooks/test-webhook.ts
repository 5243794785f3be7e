import { eventBody } from '../events/events-store.ts';
import type { EventType } from '../events/event-types.ts';
import type { Clock } from '../lib/clock.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { EndpointBook } from './endpoint-book.ts';
import type { PostWebhook } from './post-webhook.ts';
import { postSigned } from './try-delivery.ts';
import type { Scope } from './webhook-store.ts';
import { notFound } from './webhooks.ts';

/**
 * Sends a sample to an endpoint and answers with what the receiver said. It is signed like any
 * event, is in no ledger, is not repeated, and works on an endpoint that is switched off.
 */
export interface TesterParts {
  book: EndpointBook;
  post: PostWebhook;
  clock: Clock;
  userAgent: string;
}

/** A receiver may keep us waiting for the whole deadline; waiting callers must not pile up. */
const RUNNING_MAX = 50;
const RUNNING_OF_WORKSPACE_MAX = 4;

export class WebhookTester {
  readonly #parts: TesterParts;
  readonly #running = new Map<string, number>();
  #runningInAll = 0;

  constructor(parts: TesterParts) {
    this.#parts = parts;
  }

  async test(scope: Scope, id: string, sample: { type: EventType; data: object }) {
    const { book, clock } = this.#parts;
    const endpoint = await book.read(scope, id);
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
    const { posted, headers } = await this.#bounded(scope.workspaceId, () =>
      postSigned(this.#parts, endpoint, name, Buffer.from(body)),
    );
    return {
      succeeded: posted.error === null,
      status: posted.status,
      duration_ms: posted.durationMs,
      error: posted.error,
      response_body: posted.answer,
      url: endpoint.url.href,
      request_headers: headers,
      body,
    };
  }

  async #bounded<T>(workspaceId: string, work: () => Promise<T>): Promise<T> {
    const running = this.#running.get(workspaceId) ?? 0;
    if (running >= RUNNING_OF_WORKSPACE_MAX || this.#runningInAll >= RUNNING_MAX) {
      const detail = 'Other tests are still waiting for their receivers. Try again in a moment.';
      throw new RefusedError('rate_limited', detail, { retryAfterSeconds: 5 });
    }
    this.#running.set(workspaceId, running + 1);
    this.#runningInAll += 1;
    try {
      return await work();
    } finally {
      this.#runningInAll -= 1;
      const left = (this.#running.get(workspaceId) ?? 1) - 1;
      if (left === 0) this.#running.delete(workspaceId);
      else this.#running.set(workspaceId, left);
    }
  }
}
