import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import path from 'node:path';
import { StringDecoder } from 'node:string_decoder';

/**
 * The logs of a run, one JSON object per line. Each writer only appends, and writes an entry before it
 * does what follows from it. The checker reads nothing else. `at` is the time of the writer, which is
 * the same clock for all of them, in milliseconds since the epoch.
 */

export type Mode = 'live' | 'test';

/** Clients: what they sent, and what they were answered. */
export type ClientEntry =
  | {
      at: number;
      event: 'request';
      /** Names the send; a repeated request has the same one. */
      send: string;
      try: number;
      node: number;
      mode: Mode;
      recipients: string[];
      /** Sent with an Idempotency-Key, and repeated until there is a 202. */
      idempotent: boolean;
    }
  | { at: number; event: 'response'; send: string; try: number; status: number; id?: string }
  | { at: number; event: 'no_response'; send: string; try: number; error: string };

/** The receiver: each recipient of a message whose final dot it read, and each recipient it rejected. */
export type ReceiverEntry =
  | { at: number; event: 'arrival'; to: string; messageId: string; sha256: string }
  | { at: number; event: 'rejection'; to: string; reply: string };

/** Failures: from the decision until everything has recovered. */
export interface FailureEntry {
  at: number;
  event: 'begin' | 'end';
  number: number;
  kind: string;
  detail: string;
}

/** Events: as a reader saw them during the run, and once more from the start of the log at its end. */
export interface FeedEntry {
  at: number;
  pass: 'live' | 'final';
  id: string;
  type: string;
  mode: Mode;
  messageId: string;
  recipients: string[];
  /** When it happened, according to the server. */
  createdAt: number;
}

/** The statistics of a mode at the end of a run. */
export interface StatisticsEntry {
  at: number;
  mode: Mode;
  counts: StatisticsCounts;
}

/** Messages, and recipients by what happened to them. */
export interface StatisticsCounts {
  messages: number;
  accepted: number;
  delivered: number;
  bounced: number;
}

export interface LogEntries {
  clients: ClientEntry;
  receiver: ReceiverEntry;
  failures: FailureEntry;
  feed: FeedEntry;
  statistics: StatisticsEntry;
}

export type LogName = keyof LogEntries;

export class AppendOnlyLog<Name extends LogName> implements Disposable {
  readonly #file: number;
  #isOpen = true;

  /** Fails if there is one already: the logs of two runs must not be mixed. */
  constructor(folder: string, name: Name) {
    this.#file = openSync(logFile(folder, name), 'ax');
  }

  /** After the end, a late writer is ignored: the number of the file may be in use again. */
  append(entry: LogEntries[Name]): void {
    if (this.#isOpen) writeSync(this.#file, `${JSON.stringify(entry)}\n`);
  }

  [Symbol.dispose](): void {
    this.#isOpen = false;
    closeSync(this.#file);
  }
}

const READ_BYTES = 2 ** 20;

/** In pieces: the log of a long run is larger than a string can be. */
export function readLog<Name extends LogName>(folder: string, name: Name): LogEntries[Name][] {
  const entries: LogEntries[Name][] = [];
  const decoder = new StringDecoder('utf8');
  const buffer = Buffer.alloc(READ_BYTES);
  const file = openSync(logFile(folder, name), 'r');
  try {
    let rest = '';
    for (;;) {
      const length = readSync(file, buffer);
      if (length === 0) break;
      const lines = (rest + decoder.write(buffer.subarray(0, length))).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) entries.push(JSON.parse(line) as LogEntries[Name]);
    }
  } finally {
    closeSync(file);
  }
  return entries;
}

function logFile(folder: string, name: LogName): string {
  return path.join(folder, `${name}.jsonl`);
}
