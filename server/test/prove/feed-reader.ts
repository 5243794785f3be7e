import { setTimeout as sleep } from 'node:timers/promises';
import { callApi } from './api-client.ts';
import { FINAL_EVENT } from './check-logs.ts';
import type { AppendOnlyLog, FeedEntry, Mode, StatisticsCounts } from './log-files.ts';

/**
 * Reads the event feeds of both modes into the log: with a cursor while the run lasts, and once more
 * from the start at its end. A failed request is repeated with the same cursor on another node.
 */
export interface FeedOptions {
  urls: readonly string[];
  keys: Readonly<Record<Mode, string>>;
  log: AppendOnlyLog<'feed'>;
  pollMs: number;
  /** The run has failed: reading ends at once. */
  abandoned: AbortSignal;
}

const MODES: readonly Mode[] = ['live', 'test'];
const STATISTICS_MAX_MS = 120_000;

export class FeedFollower {
  /** Recipients that a stored message names, and those with an outcome. */
  readonly stored = new Set<string>();
  readonly ended = new Set<string>();
  readonly endedByMode: Record<Mode, number> = { live: 0, test: 0 };
  lastEventAt = Date.now();
  readonly #stopping = new AbortController();
  readonly #reading: Promise<unknown>;

  constructor(options: FeedOptions) {
    this.#reading = Promise.all(MODES.map((mode) => this.#follow(options, mode)));
    // Awaited by stop().
    this.#reading.catch(() => {});
  }

  /** Reads what there is, and stops. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#reading;
  }

  async #follow(options: FeedOptions, mode: Mode): Promise<void> {
    let cursor: string | undefined;
    for (;;) {
      const isLastRound = this.#stopping.signal.aborted || options.abandoned.aborted;
      cursor = await readToEnd(options, mode, 'live', cursor, (entry) => this.#note(entry));
      if (isLastRound) return;
      await sleep(options.pollMs);
    }
  }

  #note({ type, mode, recipients }: FeedEntry): void {
    this.lastEventAt = Date.now();
    for (const to of recipients) {
      if (type === 'message.accepted') this.stored.add(to);
      if (!FINAL_EVENT.test(type)) continue;
      this.ended.add(to);
      this.endedByMode[mode] += 1;
    }
  }
}

export async function readWholeFeed(options: FeedOptions): Promise<void> {
  for (const mode of MODES) await readToEnd(options, mode, 'final', undefined);
}

/** Counts follow the event log a second or two later; those that still differ are for the checker. */
export async function readStatistics(
  { urls, keys, pollMs, abandoned }: FeedOptions,
  log: AppendOnlyLog<'statistics'>,
  ended: Readonly<Record<Mode, number>>,
): Promise<void> {
  const endsAt = Date.now() + STATISTICS_MAX_MS;
  for (const mode of MODES) {
    for (let request = 0; !abandoned.aborted; request++) {
      const url = urls[request % urls.length] as string;
      const answer = await callApi(url, keys[mode], 'GET', '/stats?interval=day&points=false');
      if (!(answer instanceof Error) && answer.status === 200) {
        const { messages, accepted, delivered, bounced } = totalsOf(answer.json);
        if (delivered + bounced >= ended[mode] || Date.now() > endsAt) {
          log.append({
            at: Date.now(),
            mode,
            counts: { messages, accepted, delivered, bounced },
          });
          break;
        }
      }
      await sleep(pollMs);
    }
  }
}

function totalsOf(json: unknown): StatisticsCounts {
  const { data } = json as { data: { totals: StatisticsCounts }[] };
  return data[0]?.totals ?? { messages: 0, accepted: 0, delivered: 0, bounced: 0 };
}

/** Returns the cursor after the last event. */
async function readToEnd(
  { urls, keys, log, pollMs, abandoned }: FeedOptions,
  mode: Mode,
  pass: FeedEntry['pass'],
  from: string | undefined,
  note: (entry: FeedEntry) => void = () => {},
): Promise<string | undefined> {
  let cursor = from;
  for (let request = 0; !abandoned.aborted; request++) {
    const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const url = urls[request % urls.length] as string;
    const answer = await callApi(url, keys[mode], 'GET', `/events?limit=100${query}`);
    if (answer instanceof Error || answer.status === 503) {
      await sleep(pollMs);
      continue;
    }
    if (answer.status !== 200) throw new Error(`GET /events was answered with ${answer.status}.`);
    const { data, next_cursor, has_more } = answer.json as EventPage;
    for (const event of data) {
      const entry = entryOf(event, pass, mode);
      log.append(entry);
      note(entry);
    }
    cursor = next_cursor;
    if (!has_more) break;
  }
  return cursor;
}

interface EventPage {
  data: FeedEvent[];
  next_cursor: string;
  has_more: boolean;
}

interface FeedEvent {
  id: string;
  type: string;
  created_at: string;
  data: { message_id?: string; recipient?: string; recipients?: { email: string }[] };
}

function entryOf(event: FeedEvent, pass: FeedEntry['pass'], mode: Mode): FeedEntry {
  const { id, type, data } = event;
  const recipients =
    data.recipients?.map(({ email }) => email) ??
    (data.recipient === undefined ? [] : [data.recipient]);
  const createdAt = Date.parse(event.created_at);
  const messageId = data.message_id ?? '';
  return { at: Date.now(), pass, id, type, mode, messageId, recipients, createdAt };
}
