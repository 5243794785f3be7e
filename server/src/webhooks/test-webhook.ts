import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { EventType } from '../events/event-types.ts';
import { uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { invalidFields, RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { MessageHeader } from '../messages/lookup/message-header-store.ts';
import { postSigned } from './dispatch/attempt-webhook.ts';
import type { Endpoint, EndpointCache } from './fan-out/endpoint-cache.ts';
import { renderEvent } from './formats/formats.ts';
import { subscriptionConfirmation } from './formats/ses-sns.ts';
import type { InboundContent } from './formats/webhook-format.ts';
import type { PostWebhook } from './requests/webhook-client.ts';
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
  baseUrl: string;
  log: Log;
}

/** A sample event, and the message that it would be about. */
export interface SampleEvent {
  type: EventType;
  data: object;
  message?: MessageHeader;
  inboundContent?: InboundContent;
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

  async test(scope: TenantScope, id: string, sample: SampleEvent) {
    const endpoint = await this.#endpoint(scope, id);
    const nowMs = this.#parts.clock.now();
    const event = {
      id: uuidv7(nowMs),
      type: sample.type,
      mode: scope.mode,
      createdAtMs: nowMs,
      sequence: sample.type.startsWith('message.') ? 1 : null,
      data: JSON.stringify(sample.data),
    };
    const content = await renderEvent(endpoint.format, event, {
      message: async () => sample.message,
      inboundContent: async () => sample.inboundContent,
    });
    if (content === undefined) throw noEquivalent(endpoint, sample.type);
    return this.#post(endpoint, () =>
      postSigned(this.#parts, endpoint, event, Buffer.from(content)),
    );
  }

  /** With the format `ses-sns`: asks the receiver to confirm the subscription, as SNS does. */
  async confirm(scope: TenantScope, id: string) {
    const endpoint = await this.#endpoint(scope, id);
    if (endpoint.format !== 'ses-sns') throw noEquivalent(endpoint, 'subscription_confirmation');
    const nowMs = this.#parts.clock.now();
    const event = { id: uuidv7(nowMs), createdAtMs: nowMs };
    return this.#post(endpoint, () =>
      postSigned(this.#parts, endpoint, event, Buffer.alloc(0), (_, signing) =>
        subscriptionConfirmation(signing),
      ),
    );
  }

  /** A receiver that misses it receives events all the same, and its owner can send it again. */
  confirmInBackground(scope: TenantScope, id: string): void {
    this.confirm(scope, id).catch((error: unknown) =>
      this.#parts.log.warn({ err: error, webhookId: id }, 'subscription confirmation not sent'),
    );
  }

  async #endpoint(scope: TenantScope, id: string): Promise<Endpoint> {
    const endpoint = await this.#parts.endpoints.read(scope, id);
    if (!endpoint) throw notFound();
    return endpoint;
  }

  async #post(endpoint: Endpoint, post: () => ReturnType<typeof postSigned>) {
    const { response, headers, body } = await this.#limited(endpoint.scope.workspaceId, post);
    return {
      succeeded: response.error === null,
      status: response.status,
      duration_ms: response.durationMs,
      error: response.error,
      response_body: response.body,
      url: endpoint.url.href,
      request_headers: headers,
      body: body.toString(),
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

function noEquivalent({ format }: Endpoint, type: string): RefusedError {
  const detail = `The format ${format} has no equivalent of ${type}.`;
  return invalidFields([{ pointer: '/type', code: 'no_equivalent', detail }]);
}
