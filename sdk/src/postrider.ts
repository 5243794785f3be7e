import { copyBytes } from './copy-bytes.ts';
import { PostriderConnectionError, PostriderError } from './errors.ts';
import type {
  Item,
  ListPath,
  Method,
  Path,
  PostriderEvent,
  RequestArguments,
  RequestSettings,
  ResponseBody,
  Schema,
} from './operations.ts';
import { requestUrl } from './request-url.ts';
import { createResources, type Resources } from './resources.generated.ts';
import { type PreparedRequest, sendRequest, unexpectedResponse } from './send-request.ts';
import { readServerSentEvents } from './server-sent-events.ts';
import { systemTime, type Time } from './time.ts';

/**
 * A client for one Postrider server with one API key. Each resource has a method for every operation,
 * such as `templates.publish`; `request` calls any operation by its path. Temporary failures are retried, and never executed
 * twice: each POST has an Idempotency-Key. Permanent failures are thrown as a PostriderError or a
 * PostriderConnectionError.
 */

export interface PostriderOptions {
  /** `pr_live_…` or `pr_test_…`, or `pr_operator_…` for `operator`; by default the environment variable `POSTRIDER_API_KEY`. */
  apiKey?: string | undefined;
  /** The URL of Postrider: `https://mail.example.com`; by default `POSTRIDER_URL`. */
  baseUrl?: string | undefined;
  /** Timeout of one attempt; 30 seconds by default. */
  timeoutMs?: number | undefined;
  /** Maximum number of retries; 4 by default. */
  maxRetries?: number | undefined;
  fetch?: typeof fetch | undefined;
  /** Replaces the clock in tests. */
  time?: Time | undefined;
}

export type Message = Schema<'SendMessage'>;

export interface SendBatchOptions extends RequestSettings {
  /** `strict` (default): one invalid message rejects the whole batch. */
  mode?: 'strict' | 'permissive' | undefined;
}

export interface WaitOptions extends RequestSettings {
  to?: string | undefined;
  /** A part of the subject. */
  subject?: string | undefined;
  /** 30 by default; may exceed the server's maximum for one request. */
  timeoutSeconds?: number | undefined;
}

export interface FollowOptions extends RequestSettings {
  /** `next_cursor` of the last page that was processed, or `latest` to start with new events. */
  cursor?: string | undefined;
  /** One type, a family such as `message.*`, or a comma-separated list. */
  type?: string | undefined;
  /** How long to wait at the end of the feed; 2 seconds by default. */
  pollMs?: number | undefined;
}

export interface StreamOptions extends RequestSettings {
  /** Where to start: a cursor of the event list, or `latest` (default) for new events only. */
  cursor?: string | undefined;
  /** One type, a family such as `message.*`, or a comma-separated list. */
  type?: string | undefined;
}

export interface StreamedEvent {
  event: PostriderEvent;
  /** Pass it as `cursor` to continue after this event. */
  cursor: string;
}

export interface EventPage {
  data: PostriderEvent[];
  next_cursor: string;
  has_more: boolean;
}

const TIMEOUT_MS = 30_000;
const RETRIES_MAX = 4;
const POLL_MS = 2_000;
const INBOX_WAIT_SECONDS = 30;
const INBOX_WAIT_SECONDS_MAX = 60;
const FEED_PAGE = 100;
const RECONNECT_MS = 500;
/** The server sends a comment every 15 seconds, so a silent stream is a dead one. */
const STREAM_IDLE_MS = 45_000;

/** Safe to retry. A repeated DELETE is not: it would report as missing what it deleted itself. */
const REPEATABLE: readonly Method[] = ['GET', 'POST', 'PUT'];
/** Reading consumes the message: a retry after a lost response would not find it. */
const INBOX_WAIT = '/test/inbox/wait';

/** The resources; the constructor assigns them. */
export interface Postrider extends Omit<Resources, 'testInbox' | 'events'> {}

// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: the constructor assigns what the interface adds.
export class Postrider {
  // A private field, so that logging the client does not reveal its key.
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #timeoutMs: number;
  readonly #maxRetries: number;
  readonly #fetch: typeof fetch;
  readonly #time: Time;
  /** Created before the fields below, which extend some of them. */
  readonly #resources: Resources = createResources(this);

  constructor(options: PostriderOptions = {}) {
    this.#apiKey = checkedKey(options.apiKey ?? environment('POSTRIDER_API_KEY'));
    this.#baseUrl = checkedBaseUrl(options.baseUrl ?? environment('POSTRIDER_URL'));
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#maxRetries = options.maxRetries ?? RETRIES_MAX;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#time = options.time ?? systemTime;
    const { testInbox: _, events: __, ...resources } = this.#resources;
    Object.assign(this, resources);
  }

  /** Calls any operation: `request('GET', '/messages/{id}', { path: { id } })` returns the 2xx body. */
  request<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...args: RequestArguments<M, P>
  ): Promise<ResponseBody<M, P>> {
    return this.#body(method, path, optionsOf(args)) as Promise<ResponseBody<M, P>>;
  }

  /**
   * Like `request`, but returns the unread Response, for large or binary content: exports, `.eml`
   * files, the event stream. The timeout ends when the response begins; the signal also aborts the body.
   */
  async response<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...args: RequestArguments<M, P>
  ): Promise<Response> {
    const call = this.#prepare(method, path, optionsOf(args));
    return await this.#send({ ...call, streamed: true }, async (response) => response);
  }

  /** Iterates over the pages of any list. */
  pages<P extends ListPath>(
    path: P,
    ...args: RequestArguments<'GET', P>
  ): AsyncGenerator<ResponseBody<'GET', P>, void, undefined> {
    const pages: AsyncGenerator<unknown, void, undefined> = this.#pages(path, optionsOf(args));
    return pages as AsyncGenerator<ResponseBody<'GET', P>, void, undefined>;
  }

  /** Iterates over the items of any list; pages are fetched as needed. */
  async *all<P extends ListPath>(
    path: P,
    ...args: RequestArguments<'GET', P>
  ): AsyncGenerator<Item<P>, void, undefined> {
    for await (const { data } of this.#pages(path, optionsOf(args))) yield* data as Item<P>[];
  }

  /** Resolves when the message is in durable storage: a crash does not lose it. */
  send(message: Message, options: RequestSettings = {}): Promise<Schema<'AcceptedMessage'>> {
    return this.request('POST', '/transactional/send', { ...options, body: message });
  }

  /** Validates and renders a message without storing or sending it. */
  dryRun(message: Message, options: RequestSettings = {}): Promise<Schema<'MessageContent'>> {
    return this.request('POST', '/transactional/dry-run', { ...options, body: message });
  }

  /** Sends up to 500 messages in one commit. */
  sendBatch(
    messages: readonly Message[],
    { mode, ...options }: SendBatchOptions = {},
  ): Promise<Schema<'BatchResult'>> {
    const body = { messages: [...messages], ...(mode === undefined ? {} : { mode }) };
    return this.request('POST', '/transactional/batch', { ...options, body });
  }

  /** Sends one content to up to 500 recipients, each as a message with its own variables. */
  sendBulk(
    body: Schema<'SendBulk'>,
    options: RequestSettings = {},
  ): Promise<Schema<'BatchResult'>> {
    return this.request('POST', '/transactional/bulk', { ...options, body });
  }

  readonly testInbox = {
    ...this.#resources.testInbox,

    /** The next message that arrives, or has arrived and was not read yet; null if none came in time. */
    wait: (options: WaitOptions = {}): Promise<Schema<'InboxMessage'> | null> =>
      this.#waitForTestMail(options),
  };

  readonly events = {
    ...this.#resources.events,

    /**
     * Follows the event feed from a cursor: pages without end and without gaps. Store `next_cursor` when
     * the events of a page are processed; a restart continues there. While the server is unavailable it
     * keeps retrying, until the signal aborts, the server responds with an error, or `maxRetries` (if
     * given here) is reached.
     */
    follow: (options: FollowOptions = {}): AsyncGenerator<EventPage, never, undefined> =>
      this.#follow(options),

    /**
     * Events the moment they happen, without end and without gaps: a lost connection is resumed after
     * the last event. It ends as `follow` does.
     */
    stream: (options: StreamOptions = {}): AsyncGenerator<StreamedEvent, never, undefined> =>
      this.#stream(options),
  };

  async *#pages(path: string, options: AnyOptions): AsyncGenerator<AnyPage, void, undefined> {
    let query = options.query;
    for (;;) {
      const page = (await this.#body('GET', path, { ...options, query })) as AnyPage;
      yield page;
      // The end of the feed has a cursor too.
      if (page.next_cursor === null || page.has_more === false) return;
      query = { ...query, cursor: page.next_cursor };
    }
  }

  async #waitForTestMail(options: WaitOptions): Promise<Schema<'InboxMessage'> | null> {
    const { to, subject, timeoutSeconds = INBOX_WAIT_SECONDS, ...settings } = options;
    const untilMs = this.#time.nowMs() + timeoutSeconds * 1000;
    for (;;) {
      const leftSeconds = Math.ceil((untilMs - this.#time.nowMs()) / 1000);
      const timeout = Math.min(Math.max(1, leftSeconds), INBOX_WAIT_SECONDS_MAX);
      const timeoutMs = timeout * 1000 + (settings.timeoutMs ?? this.#timeoutMs);
      const query = { to, subject, timeout };
      const request = { ...settings, timeoutMs, query };
      const { message } = (await this.#body(
        'GET',
        INBOX_WAIT,
        request,
      )) as Schema<'AwaitedMessage'>;
      if (message !== null || this.#time.nowMs() >= untilMs) return message;
    }
  }

  async *#follow(options: FollowOptions): AsyncGenerator<EventPage, never, undefined> {
    const { cursor: from, type, pollMs = POLL_MS, ...settings } = options;
    let cursor = from;
    for (;;) {
      const query = { limit: FEED_PAGE, cursor, type };
      const request = { ...settings, query, retryForever: settings.maxRetries === undefined };
      const page = (await this.#body('GET', '/events', request)) as EventPage;
      if (page.data.length > 0) yield page;
      cursor = page.next_cursor;
      if (!page.has_more) await this.#time.wait(pollMs, settings.signal);
    }
  }

  async *#stream(options: StreamOptions): AsyncGenerator<StreamedEvent, never, undefined> {
    const { cursor: from = 'latest', type, ...settings } = options;
    const retryForever = settings.maxRetries === undefined;
    let cursor = from;
    if (from === 'latest') {
      // The position is fixed now, so that a connection that breaks before its first event leaves no gap.
      const query = { limit: 1, cursor: from };
      cursor = ((await this.#body('GET', '/events', { ...settings, query })) as EventPage)
        .next_cursor;
    }
    for (;;) {
      const idle = new AbortController();
      const abort = () => idle.abort(settings.signal?.reason);
      settings.signal?.addEventListener('abort', abort, { once: true });
      settings.signal?.throwIfAborted();
      const request = { ...settings, signal: idle.signal, query: { cursor, type }, retryForever };
      let timer: ReturnType<typeof setTimeout> | undefined;
      const restartTimer = () => {
        clearTimeout(timer);
        timer = setTimeout(() => idle.abort(), STREAM_IDLE_MS);
      };
      try {
        const call = this.#prepare('GET', '/events/stream', request);
        const response = await this.#send({ ...call, streamed: true }, async (one) => one);
        restartTimer();
        for await (const { id, data } of readServerSentEvents(bodyStream(response), restartTimer)) {
          cursor = id;
          yield { event: JSON.parse(data) as PostriderEvent, cursor };
        }
      } catch (error) {
        settings.signal?.throwIfAborted();
        if (error instanceof PostriderError || error instanceof PostriderConnectionError)
          throw error;
        // The connection broke while the stream was read.
      } finally {
        clearTimeout(timer);
        settings.signal?.removeEventListener('abort', abort);
        idle.abort();
      }
      await this.#time.wait(RECONNECT_MS, settings.signal);
    }
  }

  async #body(method: Method, path: string, options: AnyOptions): Promise<unknown> {
    const call = this.#prepare(method, path, options);
    return await this.#send(call, (response) => bodyOf(response, call));
  }

  #send<T>(call: PreparedRequest, read: (response: Response) => Promise<T>): Promise<T> {
    return sendRequest(call, read, { fetch: this.#fetch, time: this.#time });
  }

  #prepare(method: Method, path: string, options: AnyOptions): PreparedRequest {
    const { body, isJson } = encodeBody(options.body);
    const headers = new Headers({ accept: 'application/json, */*' });
    if (isJson) headers.set('content-type', 'application/json');
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    headers.set('authorization', `Bearer ${this.#apiKey}`);
    const idempotencyKey = method === 'POST' ? keyOf(options, headers) : undefined;
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
    return {
      method,
      url: requestUrl(this.#baseUrl, path, options.path, options.query),
      operation: `${method} ${path}`,
      headers,
      body,
      idempotencyKey,
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? this.#timeoutMs,
      maxRetries: options.maxRetries ?? this.#maxRetries,
      retryable: REPEATABLE.includes(method) && path !== INBOX_WAIT,
      retryForever: options.retryForever ?? false,
      streamed: false,
    };
  }
}

interface AnyOptions extends RequestSettings {
  path?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  retryForever?: boolean;
}

interface AnyPage {
  data: unknown[];
  next_cursor: string | null;
  has_more?: boolean;
}

function bodyStream({ body }: Response): ReadableStream<Uint8Array> {
  return body ?? new ReadableStream({ start: (controller) => controller.close() });
}

/** The untyped options behind the typed ones of each operation. */
function optionsOf(args: readonly [options?: object]): AnyOptions {
  return args[0] ?? {};
}

/** The bytes that all attempts send, copied so that the caller may change its buffer. */
function encodeBody(body: unknown): { body: PreparedRequest['body']; isJson: boolean } {
  if (body === undefined || typeof body === 'string') return { body, isJson: false };
  const bytes = copyBytes(body);
  if (bytes !== undefined) return { body: bytes, isJson: false };
  // JSON.stringify would turn it into `{}`.
  if (isStream(body))
    throw new TypeError('body is a stream, which cannot be sent again for a retry');
  return { body: JSON.stringify(body), isJson: true };
}

function isStream(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  return Symbol.asyncIterator in body || body instanceof Blob;
}

/** The caller's own key in any form: a second, generated key would make it another operation. */
function keyOf({ idempotencyKey }: AnyOptions, headers: Headers): string {
  return idempotencyKey ?? headers.get('idempotency-key') ?? crypto.randomUUID();
}

async function bodyOf(response: Response, { operation, idempotencyKey }: PreparedRequest) {
  const text = await response.text();
  if (text === '') return undefined;
  const type = response.headers.get('content-type') ?? '';
  // A proxy's page with status 200 is not a response of Postrider.
  if (!/^text\/html/i.test(type)) {
    if (!/[/+]json\b/.test(type)) return text;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // Reported below.
    }
  }
  throw new PostriderError(operation, unexpectedResponse(response), { idempotencyKey });
}

/** Not every runtime has environment variables. */
function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env?.[name];
}

function checkedKey(apiKey: string | undefined): string {
  // Checked here, because a runtime that rejects a header value shows it in its error.
  const key = typeof apiKey === 'string' ? apiKey.trim() : '';
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new TypeError(
    'apiKey is missing or contains invalid characters: pass it, or set POSTRIDER_API_KEY',
  );
}

function checkedBaseUrl(baseUrl: string | undefined): string {
  const address = typeof baseUrl === 'string' ? baseUrl.trim() : '';
  // Without query and fragment, and without credentials, which runtimes reject and show in the error.
  if (!/^https?:\/\/[^@?#]+$/.test(address) || !URL.canParse(address)) {
    throw new TypeError(
      'baseUrl (or POSTRIDER_URL) must be the URL of Postrider, such as https://mail.example.com',
    );
  }
  // Other services expect the API path in their base URL, so accept it here too.
  return address.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
}
