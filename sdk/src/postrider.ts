import { addressOf } from './address.ts';
import { bytesOf } from './bytes.ts';
import { PostriderError } from './errors.ts';
import { type Exchange, exchange, notPostrider } from './exchange.ts';
import type {
  Answer,
  Item,
  ListPath,
  Method,
  Path,
  PostriderEvent,
  RequestArguments,
  RequestOptions,
  RequestSettings,
  Schema,
} from './operations.ts';
import { systemTime, type Time } from './time.ts';

/**
 * A Postrider to talk to, with one key. `request` knows every operation of the API; the rest is what
 * is needed daily. Whatever fails for a moment is repeated, and never done twice: each POST has an
 * Idempotency-Key. What fails for good is a PostriderError or a PostriderConnectionError.
 */

export interface PostriderOptions {
  /** `pr_live_…` or `pr_test_…`. */
  apiKey: string;
  /** Where Postrider runs: `https://mail.example.com`. */
  baseUrl: string;
  /** The time of one try; 30 seconds unless given. */
  timeoutMs?: number | undefined;
  /** How often a request is repeated at the most; 4 unless given. */
  retriesMax?: number | undefined;
  fetch?: typeof fetch | undefined;
  /** For tests, which have no time to wait. */
  time?: Time | undefined;
}

export type Message = Schema<'SendMessage'>;

export interface SendBatchOptions extends RequestSettings {
  /** `strict`, the default: one bad message and nothing is accepted. */
  mode?: 'strict' | 'permissive' | undefined;
}

export interface WaitOptions extends RequestSettings {
  to?: string | undefined;
  /** Stands in the subject. */
  subject?: string | undefined;
  /** 30 unless given; may be longer than the server waits at a time. */
  timeoutSeconds?: number | undefined;
}

export interface FollowOptions extends RequestSettings {
  /** `next_cursor` of the last page that was worked off; `latest`: what happens from now on. */
  cursor?: string | undefined;
  /** One type, a family such as `message.*`, or several separated by commas. */
  type?: string | undefined;
  /** How long to wait at the end of the ledger; 2 seconds unless given. */
  pollMs?: number | undefined;
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

/** May be sent again without harm. A repeated DELETE would report as missing what it deleted. */
const REPEATABLE: readonly Method[] = ['GET', 'POST', 'PUT'];
/** Each mail is handed out once: asked for again after a broken answer it would seem missing. */
const INBOX_WAIT = '/test/inbox/wait';

export class Postrider {
  // Private for the language too: a client that is logged does not show its key.
  readonly #apiKey: string;
  readonly #baseUrl: string;
  readonly #timeoutMs: number;
  readonly #retriesMax: number;
  readonly #fetch: typeof fetch;
  readonly #time: Time;

  constructor(options: PostriderOptions) {
    this.#apiKey = checkedKey(options.apiKey);
    this.#baseUrl = checkedBaseUrl(options.baseUrl);
    this.#timeoutMs = options.timeoutMs ?? TIMEOUT_MS;
    this.#retriesMax = options.retriesMax ?? RETRIES_MAX;
    this.#fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
    this.#time = options.time ?? systemTime;
  }

  /** Any operation: `request('GET', '/messages/{id}', { path: { id } })` gives its 2xx answer. */
  request<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...args: RequestArguments<M, P>
  ): Promise<Answer<M, P>> {
    return this.#whole(method, path, optionsOf(args)) as Promise<Answer<M, P>>;
  }

  /**
   * The same, with the answer as it stands, for what is long or not text: exports, `.eml` files, the
   * live stream. The time of a try ends when the answer begins; the signal ends its body too.
   */
  async response<M extends Method, P extends Path<M>>(
    method: M,
    path: P,
    ...args: RequestArguments<M, P>
  ): Promise<Response> {
    const call = this.#exchangeOf(method, path, optionsOf(args));
    return await this.#exchange({ ...call, streamed: true }, async (response) => response);
  }

  /** Page by page, of any list. */
  pages<P extends ListPath>(
    path: P,
    ...args: RequestArguments<'GET', P>
  ): AsyncGenerator<Answer<'GET', P>, void, undefined> {
    const pages: AsyncGenerator<unknown, void, undefined> = this.#pages(path, optionsOf(args));
    return pages as AsyncGenerator<Answer<'GET', P>, void, undefined>;
  }

  /** Row by row, of any list: pages are fetched as they are needed. */
  async *all<P extends ListPath>(
    path: P,
    ...args: RequestArguments<'GET', P>
  ): AsyncGenerator<Item<P>, void, undefined> {
    for await (const { data } of this.#pages(path, optionsOf(args))) yield* data as Item<P>[];
  }

  /** Once this answers, the message is in durable storage: no crash loses it. */
  send(message: Message, options: RequestSettings = {}): Promise<Schema<'AcceptedMessage'>> {
    const sending = this.request('POST', '/transactional/send', { ...options, body: message });
    return sending as Promise<Schema<'AcceptedMessage'>>;
  }

  /** Up to 500 messages in one commit. */
  sendBatch(
    messages: readonly Message[],
    { mode, ...options }: SendBatchOptions = {},
  ): Promise<Schema<'BatchResult'>> {
    const body = { messages: [...messages], ...(mode === undefined ? {} : { mode }) };
    return this.request('POST', '/transactional/batch', { ...options, body });
  }

  readonly messages = {
    get: (id: string, options: RequestSettings = {}): Promise<Schema<'Message'>> =>
      this.request('GET', '/messages/{id}', { ...options, path: { id } }),

    /** The newest first. */
    list: (
      query: NonNullable<RequestOptions<'GET', '/messages'>['query']> = {},
      options: RequestSettings = {},
    ): AsyncGenerator<Schema<'MessageSummary'>, void, undefined> =>
      this.all('/messages', { ...options, query }),

    cancel: (id: string, options: RequestSettings = {}): Promise<Schema<'MessageSummary'>> =>
      this.request('POST', '/messages/{id}/cancel', { ...options, path: { id } }),

    retry: (id: string, options: RequestSettings = {}): Promise<Schema<'MessageSummary'>> =>
      this.request('POST', '/messages/{id}/retry', { ...options, path: { id } }),
  };

  readonly testInbox = {
    /** The next mail that arrives, or has and was not yet waited for; null when none came in time. */
    wait: (options: WaitOptions = {}): Promise<Schema<'InboxMessage'> | null> =>
      this.#waitForTestMail(options),
  };

  readonly events = {
    /**
     * Pages of the ledger from a cursor on, without end and without a gap. Keep `next_cursor` when
     * the events of its page are worked off, and a restart goes on there. A server that is away is
     * waited for: the signal ends that, a refusal does, or `retriesMax` when it is given here.
     */
    follow: (options: FollowOptions = {}): AsyncGenerator<EventPage, never, undefined> =>
      this.#follow(options),
  };

  async *#pages(path: string, options: AnyOptions): AsyncGenerator<AnyPage, void, undefined> {
    let query = options.query;
    for (;;) {
      const page = (await this.#whole('GET', path, { ...options, query })) as AnyPage;
      yield page;
      // The end of the ledger has a cursor too, for later.
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
      const asked = { ...settings, timeoutMs, query };
      const { message } = (await this.#whole('GET', INBOX_WAIT, asked)) as Schema<'AwaitedMessage'>;
      if (message !== null || this.#time.nowMs() >= untilMs) return message;
    }
  }

  async *#follow(options: FollowOptions): AsyncGenerator<EventPage, never, undefined> {
    const { cursor: from, type, pollMs = POLL_MS, ...settings } = options;
    let cursor = from;
    for (;;) {
      const query = { limit: FEED_PAGE, cursor, type };
      const asked = { ...settings, query, patient: settings.retriesMax === undefined };
      const page = (await this.#whole('GET', '/events', asked)) as EventPage;
      if (page.data.length > 0) yield page;
      cursor = page.next_cursor;
      if (!page.has_more) await this.#time.wait(pollMs, settings.signal);
    }
  }

  async #whole(method: Method, path: string, options: AnyOptions): Promise<unknown> {
    const call = this.#exchangeOf(method, path, options);
    return await this.#exchange(call, (response) => bodyOf(response, call));
  }

  #exchange<T>(call: Exchange, read: (response: Response) => Promise<T>): Promise<T> {
    return exchange(call, read, { fetch: this.#fetch, time: this.#time });
  }

  #exchangeOf(method: Method, path: string, options: AnyOptions): Exchange {
    const { body, isJson } = settled(options.body);
    const headers = new Headers({ accept: 'application/json, */*' });
    if (isJson) headers.set('content-type', 'application/json');
    for (const [name, value] of Object.entries(options.headers ?? {})) headers.set(name, value);
    headers.set('authorization', `Bearer ${this.#apiKey}`);
    const idempotencyKey = method === 'POST' ? keyOf(options, headers) : undefined;
    if (idempotencyKey !== undefined) headers.set('idempotency-key', idempotencyKey);
    return {
      method,
      url: addressOf(this.#baseUrl, path, options.path, options.query),
      operation: `${method} ${path}`,
      headers,
      body,
      idempotencyKey,
      signal: options.signal,
      timeoutMs: options.timeoutMs ?? this.#timeoutMs,
      retriesMax: options.retriesMax ?? this.#retriesMax,
      repeatable: REPEATABLE.includes(method) && path !== INBOX_WAIT,
      patient: options.patient ?? false,
      streamed: false,
    };
  }
}

interface AnyOptions extends RequestSettings {
  path?: Record<string, unknown> | undefined;
  query?: Record<string, unknown> | undefined;
  body?: unknown;
  patient?: boolean;
}

interface AnyPage {
  data: unknown[];
  next_cursor: string | null;
  has_more?: boolean;
}

/** Below the types of each operation all are treated alike. */
function optionsOf(args: readonly [options?: object]): AnyOptions {
  return args[0] ?? {};
}

/** What all tries send, whatever the program does to its bytes meanwhile. */
function settled(body: unknown): { body: Exchange['body']; isJson: boolean } {
  if (body === undefined || typeof body === 'string') return { body, isJson: false };
  const bytes = bytesOf(body);
  if (bytes !== undefined) return { body: bytes, isJson: false };
  // In JSON it would be `{}`, and sent as such.
  if (isStream(body)) throw new TypeError('body is a stream: it may have to be sent again');
  return { body: JSON.stringify(body), isJson: true };
}

function isStream(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  return Symbol.asyncIterator in body || body instanceof Blob;
}

/** The program's own, however it was given: another one in its place would make a second act of it. */
function keyOf({ idempotencyKey }: AnyOptions, headers: Headers): string {
  return idempotencyKey ?? headers.get('idempotency-key') ?? crypto.randomUUID();
}

async function bodyOf(response: Response, { operation, idempotencyKey }: Exchange) {
  const text = await response.text();
  if (text === '') return undefined;
  const type = response.headers.get('content-type') ?? '';
  // A proxy's page with a 200 is no answer.
  if (!/^text\/html/i.test(type)) {
    if (!/[/+]json\b/.test(type)) return text;
    try {
      return JSON.parse(text) as unknown;
    } catch {
      // Told below.
    }
  }
  throw new PostriderError(operation, notPostrider(response), { idempotencyKey });
}

function checkedKey(apiKey: string): string {
  // Said here, without it: a runtime that refuses a header shows its value in the error.
  const key = typeof apiKey === 'string' ? apiKey.trim() : '';
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new TypeError('apiKey is missing or has characters that no key has');
}

function checkedBaseUrl(baseUrl: string): string {
  const address = typeof baseUrl === 'string' ? baseUrl.trim() : '';
  // Without what no path can follow, and without a password, which a runtime refuses and shows.
  if (!/^https?:\/\/[^@?#]+$/.test(address) || !URL.canParse(address)) {
    throw new TypeError('baseUrl is the address of Postrider, such as https://mail.example.com');
  }
  // Many write it as other services want it, with the path of the API.
  return address.replace(/\/+$/, '').replace(/\/api\/v1$/, '');
}
