import type { TenantScope } from '../accounts/tenant-scope.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { type FieldError, invalidFields } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import type { StreamsByKey } from '../streams/stream-cache.ts';
import type { StreamEntry, StreamSuppressions } from '../suppressions/stream-suppressions.ts';
import type { SubscriptionChange } from './contact-fields.ts';
import type { Contact } from './contact-store.ts';
import {
  findChoices,
  lockContactKey,
  type SubscriptionChoice,
  type SubscriptionSource,
  type SubscriptionStatus,
  saveChoices,
} from './subscription-store.ts';

/**
 * The subscriptions of contacts. Suppressions decide: a contact has left a stream if, and only if, a
 * suppression stops this stream for its address. What the contact chose is recorded beside it, with
 * time and source, in the same commit; sending never reads it. A status is derived from both when a
 * contact is shown, so that a suppression that is added or deleted elsewhere shows at once.
 */

export interface Subscription {
  stream: string;
  status: SubscriptionStatus;
  changedAtMs: number;
  /** Null if the address had no contact at that time, or if its suppression was added directly. */
  source: SubscriptionSource | 'complaint' | null;
}

/** How a contact subscribed or left. */
export const SUBSCRIPTION_SOURCES = [
  'api',
  'dashboard',
  'import',
  'page',
  'one_click',
  'mail',
  'complaint',
] as const satisfies readonly Subscription['source'][];

export interface SubscribedContact extends Contact {
  /** In the order of the streams; those about which nothing is known are missing. */
  subscriptions: Subscription[];
}

/** A subscription that is to be set. */
export interface WantedSubscription extends SubscriptionChange {
  emailKey: string;
}

export interface ContactSubscriptionsParts {
  clock: Clock;
  suppressions: Pick<StreamSuppressions, 'streamEntries' | 'unsubscribeMany' | 'removeLocked'>;
  streams(workspaceId: string): StreamsByKey | Promise<StreamsByKey>;
}

export class ContactSubscriptions {
  readonly #parts: ContactSubscriptionsParts;

  constructor(parts: ContactSubscriptionsParts) {
    this.#parts = parts;
  }

  /** The subscription streams of the workspace, in the order of their keys. */
  async streams(workspaceId: string): Promise<string[]> {
    const streams = await this.#parts.streams(workspaceId);
    return [...streams.values()]
      .filter(({ purpose }) => purpose === 'subscription')
      .map(({ key }) => key);
  }

  /** A workspace without subscription streams costs no query. */
  async of(
    db: Queryable,
    scope: TenantScope,
    contacts: readonly Contact[],
  ): Promise<SubscribedContact[]> {
    const streams = await this.streams(scope.workspaceId);
    if (streams.length === 0 || contacts.length === 0) {
      return contacts.map((contact) => ({ ...contact, subscriptions: [] }));
    }
    const keys = contacts.map(({ emailKey }) => emailKey);
    const choices = Map.groupBy(await findChoices(db, scope, keys), byEmail);
    const entries = Map.groupBy(
      await this.#parts.suppressions.streamEntries(db, scope, keys),
      byEmail,
    );
    return contacts.map((contact) => ({
      ...contact,
      subscriptions: streams.flatMap((stream) => {
        const choice = choices.get(contact.emailKey)?.find((one) => one.stream === stream);
        const own = entries.get(contact.emailKey)?.find(({ entry }) => entry.stream === stream);
        return subscriptionOf(stream, choice, own) ?? [];
      }),
    }));
  }

  /** Throws a validation error for each subscription that cannot be set. */
  async check(workspaceId: string, changes: readonly SubscriptionChange[]): Promise<void> {
    if (changes.length === 0) return;
    const known = new Set(await this.streams(workspaceId));
    const errors = subscriptionErrors(changes, known, this.#parts.clock.now());
    if (errors.length > 0) throw invalidFields(errors);
  }

  /**
   * Sets subscriptions of contacts that the caller has locked, within its transaction. Setting what is
   * already the case changes nothing. An import never brings back an address that has left, because
   * files are older than what recipients decided since. Returns the addresses of changed contacts.
   */
  async set(
    client: Queryable,
    scope: TenantScope,
    wanted: readonly WantedSubscription[],
    source: Extract<SubscriptionSource, 'api' | 'dashboard' | 'import'>,
  ): Promise<Set<string>> {
    if (wanted.length === 0) return new Set();
    const { suppressions, clock } = this.#parts;
    const nowMs = clock.now();
    // The last one counts if a stream of an address occurs twice.
    const all = [...new Map(wanted.map((one) => [targetOf(one), one])).values()];
    const keys = [...new Set(all.map(({ emailKey }) => emailKey))];
    const entries = await suppressions.streamEntries(client, scope, keys, 'for update');
    const stops = Map.groupBy(entries, ({ emailKey, entry: { stream } }) =>
      targetOf({ emailKey, stream }),
    );
    const choices = new Map(
      (await findChoices(client, scope, keys)).map((one) => [targetOf(one), one]),
    );
    const left: WantedSubscription[] = [];
    const lifted: StreamEntry[] = [];
    const changed: SubscriptionChoice[] = [];
    for (const one of all) {
      const stopped = stops.get(targetOf(one)) ?? [];
      const choice = choices.get(targetOf(one));
      if (one.status === 'unsubscribed') {
        if (stopped.some(({ entry }) => entry.expiresAtMs === null)) continue;
        left.push(one);
      } else if (stopped.length > 0) {
        if (source === 'import') continue;
        if (!stopped.every(({ isUnsubscribe }) => isUnsubscribe)) throw invalidFields([stays(one)]);
        lifted.push(...stopped);
      } else if (isRecorded(one, choice)) continue;
      const { emailKey, stream, status, changedAtMs } = one;
      changed.push({ emailKey, stream, status, changedAtMs: changedAtMs ?? nowMs, source });
    }
    const ended = lifted.map(({ entry }) => entry);
    if (ended.length > 0) await suppressions.removeLocked(client, scope, ended);
    if (left.length > 0) await suppressions.unsubscribeMany(client, scope, left);
    await saveChoices(client, scope, changed);
    return new Set(changed.map(byEmail));
  }

  /**
   * A contact that left a stream stays out of it under a new address. The records of its choices follow
   * by their foreign key.
   */
  async follow(client: Queryable, scope: TenantScope, from: string, to: string): Promise<void> {
    const { suppressions } = this.#parts;
    const entries = await suppressions.streamEntries(client, scope, [from, to], 'for update');
    const stopped = new Set(
      entries.filter(({ emailKey }) => emailKey === to).map(({ entry }) => entry.stream),
    );
    const left = entries
      .filter(({ emailKey, isUnsubscribe }) => emailKey === from && isUnsubscribe)
      .filter(({ entry }) => !stopped.has(entry.stream))
      .map(({ entry: { stream } }) => ({ emailKey: to, stream }));
    if (left.length > 0) await suppressions.unsubscribeMany(client, scope, left);
  }

  /** Called before suppressions of the address are changed: see lockContactKey. */
  lock(client: Queryable, scope: TenantScope, emailKey: string): Promise<void> {
    return lockContactKey(client, scope, emailKey);
  }

  /** Records what a recipient has done to subscriptions, if the address has a contact. */
  async record(
    client: Queryable,
    scope: TenantScope,
    done: {
      emailKey: string;
      streams: readonly string[];
      status: SubscriptionStatus;
      source: SubscriptionSource;
    },
  ): Promise<void> {
    const { streams, ...choice } = done;
    const changedAtMs = this.#parts.clock.now();
    await saveChoices(
      client,
      scope,
      streams.map((stream) => ({ ...choice, stream, changedAtMs })),
    );
  }
}

/** The public form, by stream. */
export function publicSubscriptions(subscriptions: readonly Subscription[]) {
  return Object.fromEntries(
    subscriptions.map(({ stream, status, changedAtMs, source }) => [
      stream,
      { status, changed_at: new Date(changedAtMs).toISOString(), source },
    ]),
  );
}

/** Errors in subscriptions that are to be set. `known` are the subscription streams. */
export function subscriptionErrors(
  changes: readonly SubscriptionChange[],
  known: ReadonlySet<string>,
  nowMs: number,
): FieldError[] {
  return changes.flatMap(({ stream, changedAtMs }) => {
    const pointer = `/subscriptions/${stream}`;
    if (!known.has(stream)) {
      const detail = `The workspace has no subscription stream ${stream}.`;
      return [{ pointer, code: 'stream_not_found', detail }];
    }
    if (changedAtMs === null || changedAtMs <= nowMs) return [];
    const detail = 'This time is in the future.';
    return [{ pointer: `${pointer}/changed_at`, code: 'invalid_time', detail }];
  });
}

/** Undefined if nothing is known. */
export function subscriptionOf(
  stream: string,
  choice: SubscriptionChoice | undefined,
  stopped: StreamEntry | undefined,
): Subscription | undefined {
  const status = stopped ? 'unsubscribed' : 'subscribed';
  if (choice?.status === status) {
    return { stream, status, changedAtMs: choice.changedAtMs, source: choice.source };
  }
  if (!stopped) return undefined;
  const { createdAtMs, reason } = stopped.entry;
  const source = reason === 'complaint' ? 'complaint' : null;
  return { stream, status, changedAtMs: createdAtMs, source };
}

/** A repeated request, or a line that was imported before, keeps the time of the choice. */
function isRecorded(wanted: SubscriptionChange, choice: SubscriptionChoice | undefined): boolean {
  if (choice?.status !== wanted.status) return false;
  return wanted.changedAtMs === null || wanted.changedAtMs === choice.changedAtMs;
}

/** The sender cannot undo a complaint by the way. */
function stays({ stream }: SubscriptionChange): FieldError {
  const detail =
    'A complaint or a suppression that was added directly stops this stream for the address. ' +
    'Delete that suppression first.';
  return { pointer: `/subscriptions/${stream}`, code: 'suppressed', detail };
}

function targetOf({ emailKey, stream }: { emailKey: string; stream: string }): string {
  return `${stream} ${emailKey}`;
}

function byEmail({ emailKey }: { emailKey: string }): string {
  return emailKey;
}
