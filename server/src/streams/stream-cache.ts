import type { Pool } from '../db/connections/pool.ts';
import { NotifyCache } from '../lib/notify-cache.ts';
import type { Clock } from '../lib/time/clock.ts';
import { DEFAULT_STREAM, DEFAULT_STREAM_KEY, type Stream } from './stream.ts';
import { listStreams } from './stream-store.ts';

const WORKSPACES_MAX = 20_000;

export type StreamsByKey = ReadonlyMap<string, Stream>;

/** The streams of each workspace, which every send looks up. */
export class StreamCache {
  readonly #pool: Pool;
  readonly #cache: NotifyCache<StreamsByKey>;

  constructor(parts: { pool: Pool; clock: Clock; maxAgeMs: () => number }) {
    this.#pool = parts.pool;
    this.#cache = new NotifyCache({ ...parts, entriesMax: WORKSPACES_MAX });
  }

  /** Synchronous when the workspace is cached. */
  find(workspaceId: string, key: string): Stream | undefined | Promise<Stream | undefined> {
    const streams = this.all(workspaceId);
    return streams instanceof Promise ? streams.then((all) => all.get(key)) : streams.get(key);
  }

  /** All streams by key, in the order of their keys. */
  all(workspaceId: string): StreamsByKey | Promise<StreamsByKey> {
    return this.#cache.get(workspaceId, '', async () =>
      withDefault(await listStreams(this.#pool, workspaceId)),
    );
  }

  /** Called when a stream of the workspace has changed. */
  invalidateWorkspace(workspaceId: string): void {
    this.#cache.invalidate(workspaceId);
  }

  invalidateAll(): void {
    this.#cache.invalidateAll();
  }
}

/** Those of most workspaces, which share it: so every send finds it in the processor's caches. */
const ONLY_DEFAULT: StreamsByKey = new Map([[DEFAULT_STREAM_KEY, DEFAULT_STREAM]]);

export function withDefault(stored: readonly Stream[]): StreamsByKey {
  if (stored.length === 0) return ONLY_DEFAULT;
  const streams = stored.some(({ key }) => key === DEFAULT_STREAM_KEY)
    ? stored
    : [...stored, DEFAULT_STREAM].sort((a, b) => (a.key < b.key ? -1 : 1));
  return new Map(streams.map((stream) => [stream.key, stream]));
}
