import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { type FieldError, invalidFields, RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseMailbox } from '../mail/address.ts';
import { DEFAULT_STREAM, DEFAULT_STREAM_KEY, type Stream, type StreamPurpose } from './stream.ts';
import { withDefault } from './stream-cache.ts';
import {
  deleteStream,
  findStreamUse,
  listStreams,
  notifyStreamsChanged,
  saveStream,
} from './stream-store.ts';

/**
 * The streams of a workspace: created, changed and deleted by its members and keys, and the same in
 * both modes. Each change notifies every node, which drops the workspace from its cache.
 */

export interface NewStream {
  key: string;
  name?: string;
  purpose: StreamPurpose;
  tracking?: { opens?: boolean | null; clicks?: boolean | null };
  brand?: { name?: string | null; logo_url?: string | null; color?: string | null };
  from?: { email: string; name?: string | null } | null;
  route?: string | null;
  messages_per_minute?: number | null;
  content_retention_days?: number | null;
}

export type StreamChange = Omit<NewStream, 'key' | 'purpose'>;

/** Every stream of a workspace is read with the first, so there cannot be many. */
export const STREAMS_MAX = 100;

export class Streams {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #onChange: (workspaceId: string) => void;
  readonly #routes: ReadonlySet<string>;

  /**
   * `onChange` is called after each commit, so that this node does not wait for its own notification.
   * `routes` are the names that the operator has configured.
   */
  constructor(parts: {
    pool: Pool;
    clock: Clock;
    routes?: readonly string[];
    onChange?: (workspaceId: string) => void;
  }) {
    this.#routes = new Set(parts.routes);
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#onChange = parts.onChange ?? (() => {});
  }

  /** In the order of their keys. */
  async list(workspaceId: string): Promise<Stream[]> {
    return [...(await this.#all(this.#pool, workspaceId)).values()];
  }

  async get(workspaceId: string, key: string): Promise<Stream> {
    return found(await this.#all(this.#pool, workspaceId), key);
  }

  async create(workspaceId: string, given: NewStream): Promise<Stream> {
    const nowMs = this.#clock.now();
    const { key, purpose, name = key } = given;
    this.#checkRoute(given);
    return this.#commit(workspaceId, async (client) => {
      const streams = await this.#all(client, workspaceId);
      if (streams.has(key)) {
        throw new RefusedError('conflict', `The workspace already has a stream ${key}.`);
      }
      if (streams.size >= STREAMS_MAX) {
        throw new RefusedError('conflict', `A workspace can have at most ${STREAMS_MAX} streams.`);
      }
      const times = { createdAtMs: nowMs, updatedAtMs: nowMs };
      const stream = { key, purpose, ...withChange({ ...DEFAULT_STREAM, name }, given), ...times };
      await saveStream(client, workspaceId, stream);
      return stream;
    });
  }

  async change(workspaceId: string, key: string, change: StreamChange): Promise<Stream> {
    const nowMs = this.#clock.now();
    this.#checkRoute(change);
    return this.#commit(workspaceId, async (client) => {
      const before = found(await this.#all(client, workspaceId), key);
      const stream = {
        ...before,
        ...withChange(before, change),
        createdAtMs: before.createdAtMs ?? nowMs,
        updatedAtMs: nowMs,
      };
      await saveStream(client, workspaceId, stream);
      return stream;
    });
  }

  /**
   * Suppressions of the stream are kept: if a stream with this key is created again, addresses that
   * left it stay out.
   */
  async remove(workspaceId: string, key: string): Promise<void> {
    await this.#commit(workspaceId, async (client) => {
      found(await this.#all(client, workspaceId), key);
      if (key === DEFAULT_STREAM_KEY) {
        throw new RefusedError('conflict', `Every workspace has the stream ${key}.`);
      }
      const use = await findStreamUse(client, workspaceId, key);
      if (use) {
        throw new RefusedError('conflict', `The ${use.kind} ${use.name} uses this stream.`, {
          fix: 'Choose another stream for everything that uses this one, then delete it.',
        });
      }
      await deleteStream(client, workspaceId, key);
    });
  }

  /** Throws a validation error for each key that is not a stream of the workspace. */
  async check(workspaceId: string, keys: readonly StreamReference[]): Promise<void> {
    const errors = await this.errorsIn(workspaceId, keys);
    if (errors.length > 0) throw invalidFields(errors);
  }

  async errorsIn(workspaceId: string, keys: readonly StreamReference[]): Promise<FieldError[]> {
    if (keys.every(({ key }) => key === DEFAULT_STREAM_KEY)) return [];
    const streams = await this.#all(this.#pool, workspaceId);
    return keys.filter(({ key }) => !streams.has(key)).map(unknownStream);
  }

  #checkRoute({ route }: StreamChange): void {
    if (route === undefined || route === null || this.#routes.has(route)) return;
    const names = [...this.#routes].join(', ');
    const detail =
      names === '' ? 'The operator has configured no routes.' : `Use one of these: ${names}.`;
    throw invalidFields([{ pointer: '/route', code: 'route_not_found', detail }]);
  }

  async #all(db: Queryable, workspaceId: string): Promise<ReadonlyMap<string, Stream>> {
    return withDefault(await listStreams(db, workspaceId));
  }

  async #commit<T>(workspaceId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    const result = await inTransaction(this.#pool, async (client) => {
      await lockForTransaction(client, 'streams', workspaceId);
      const done = await work(client);
      await notifyStreamsChanged(client, workspaceId);
      return done;
    });
    this.#onChange(workspaceId);
    return result;
  }
}

/** A field that names a stream. */
export interface StreamReference {
  key: string;
  pointer: string;
}

function unknownStream({ key, pointer }: StreamReference): FieldError {
  return { pointer, code: 'stream_not_found', detail: `The workspace has no stream ${key}.` };
}

/** The fields that can be changed; absent ones stay as they are. */
function withChange(before: Stream, change: StreamChange) {
  const { name = before.name, tracking, brand } = change;
  const {
    route = before.route,
    messages_per_minute: messagesPerMinute = before.messagesPerMinute,
    content_retention_days: contentRetentionDays = before.contentRetentionDays,
  } = change;
  const { opens = before.trackOpens, clicks = before.trackClicks } = tracking ?? {};
  const {
    name: brandName = before.brandName,
    logo_url: brandLogoUrl = before.brandLogoUrl,
    color: brandColor = before.brandColor,
  } = brand ?? {};
  return {
    ...{ name, trackOpens: opens, trackClicks: clicks, brandName, brandLogoUrl, brandColor },
    ...(change.from === undefined ? senderOf(before) : parseSender(change.from)),
    route,
    messagesPerMinute,
    contentRetentionDays,
  };
}

function senderOf({ fromEmail, fromName }: Stream): Pick<Stream, 'fromEmail' | 'fromName'> {
  return { fromEmail, fromName };
}

function parseSender(
  from: NonNullable<StreamChange['from']> | null,
): Pick<Stream, 'fromEmail' | 'fromName'> {
  if (from === null) return { fromEmail: null, fromName: null };
  const parsed = parseMailbox(from.email);
  if (parsed.ok) return { fromEmail: parsed.mailbox.email, fromName: from.name ?? null };
  throw invalidFields([{ pointer: '/from/email', code: 'invalid_email', detail: parsed.detail }]);
}

function found(streams: ReadonlyMap<string, Stream>, key: string): Stream {
  const stream = streams.get(key);
  if (!stream) throw new RefusedError('not_found', 'There is no stream with this key.');
  return stream;
}
