import { findWorkspace } from '../accounts/workspace-store.ts';
import type { MailboxContact } from '../contacts/contact-source.ts';
import type { ContactSubscriptions } from '../contacts/contact-subscriptions.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { appendEvents } from '../events/events-store.ts';
import { encodeId } from '../lib/ids.ts';
import type { Clock } from '../lib/time/clock.ts';
import {
  type MessageRef,
  nextEventSequence,
} from '../messages/deliveries/delivery-change-store.ts';
import type { Stream } from '../streams/stream.ts';
import type { StreamsByKey } from '../streams/stream-cache.ts';
import { type AddressHash, ERASED_ADDRESS } from '../suppressions/erased-address.ts';
import type { StreamSuppressions } from '../suppressions/stream-suppressions.ts';
import type { Suppressions } from '../suppressions/suppressions.ts';
import type { Subscription, UnsubscribeLinks } from './unsubscribe-links.ts';
import { lockRecipient, type SubscribedRecipient } from './unsubscribe-store.ts';

/**
 * Lets recipients leave streams and come back, with the token of a link in their mail. Leaving adds a
 * suppression in the stream and a `message.unsubscribed` event in one commit; repeating it changes
 * nothing. Coming back removes only a suppression that an unsubscribe made, never one by a bounce, a
 * complaint or the sender.
 */

export interface UnsubscribesParts {
  pool: Pool;
  clock: Clock;
  links: Pick<UnsubscribeLinks, 'read'>;
  suppressions: Pick<Suppressions, 'suppress'>;
  streamSuppressions: Pick<StreamSuppressions, 'resubscribe' | 'subscriptionStates'>;
  /** Records what recipients chose on their contacts. */
  choices: Pick<ContactSubscriptions, 'lock' | 'record'>;
  addressHash: AddressHash;
  streams(workspaceId: string): StreamsByKey | Promise<StreamsByKey>;
  contact(
    workspaceId: string,
    mode: Subscription['mode'],
    emailKey: string,
  ): Promise<MailboxContact | undefined>;
  /** Called after events were appended. */
  onEventsAppended: () => void;
}

/** How the recipient asked: the button of an email client (RFC 8058), the page, or an email. */
export type UnsubscribeSource = 'one_click' | 'page' | 'mail';

/** `blocked`: suppressed by something else than an unsubscribe from this stream alone. */
export type SubscriptionState = 'subscribed' | 'unsubscribed' | 'blocked';

export interface StreamSubscription {
  key: string;
  name: string;
  state: SubscriptionState;
}

/** What the page shows. */
export interface SubscriptionView {
  stream: StreamSubscription;
  /** The sender's other streams, in the order of their names. */
  others: StreamSubscription[];
  senderName: string;
  logoUrl: string | null;
  color: string | null;
  /** The recipient's locale, if known. */
  locale: string | null;
}

export class Unsubscribes {
  readonly #parts: UnsubscribesParts;

  constructor(parts: UnsubscribesParts) {
    this.#parts = parts;
  }

  /** Undefined when we did not issue the token. Reading changes nothing: scanners follow links. */
  async view(token: string): Promise<SubscriptionView | undefined> {
    const { streamSuppressions } = this.#parts;
    const found = await this.#read(token);
    if (!found) return undefined;
    const { link, workspace } = found;
    const { workspaceId, mode, stream: key, recipientKey } = link;
    const streams = await this.#parts.streams(workspaceId);
    const stream = streams.get(key);
    const contact = await this.#parts.contact(workspaceId, mode, recipientKey);
    const others = otherStreams(streams, key);
    const keys = [key, ...others.map((one) => one.key)];
    const states = await streamSuppressions.subscriptionStates(link, this.#addressKeys(link), keys);
    const stateOf = (one: string): SubscriptionState => states.get(one) ?? 'subscribed';
    return {
      stream: { key, name: stream?.name ?? key, state: stateOf(key) },
      others: others
        .map((one) => ({ key: one.key, name: one.name, state: stateOf(one.key) }))
        .sort((a, b) => a.name.localeCompare(b.name)),
      senderName: stream?.brandName ?? workspace.name,
      logoUrl: stream?.brandLogoUrl ?? null,
      color: stream?.brandColor ?? null,
      locale: contact?.locale ?? null,
    };
  }

  /** Returns false when we did not issue the token. */
  async unsubscribe(token: string, source: UnsubscribeSource): Promise<boolean> {
    const { link } = (await this.#read(token)) ?? {};
    if (!link) return false;
    await this.#commit(async (client) => {
      const sent = await this.#lock(client, link);
      return this.#leave(client, { link, sent, stream: link.stream, source });
    });
    return true;
  }

  /** Returns false when we did not issue the token. */
  async resubscribe(token: string): Promise<boolean> {
    const { link } = (await this.#read(token)) ?? {};
    if (!link) return false;
    await this.#commit(async (client) => {
      await this.#parts.choices.lock(client, link, link.recipientKey);
      return this.#comeBack(client, link, [link.stream]);
    });
    return true;
  }

  /**
   * Leaves those of the shown streams that were not chosen, and comes back to the others. Streams that
   * the page did not show stay as they are. Returns false when we did not issue the token.
   */
  async choose(token: string, shown: readonly string[], chosen: readonly string[]) {
    const { link } = (await this.#read(token)) ?? {};
    if (!link) return false;
    const streams = await this.#parts.streams(link.workspaceId);
    const listed = otherStreams(streams, link.stream).map(({ key }) => key);
    const wanted = new Set(chosen);
    const offered = listed.filter((key) => shown.includes(key));
    await this.#commit(async (client) => {
      const sent = await this.#lock(client, link);
      const back = offered.filter((key) => wanted.has(key));
      let changed = await this.#comeBack(client, link, back);
      for (const stream of offered.filter((key) => !wanted.has(key))) {
        const left = await this.#leave(client, { link, sent, stream, source: 'page' });
        changed ||= left;
      }
      return changed;
    });
    return true;
  }

  /** The recipient of a message wrote to its address for unsubscribing, which only they know. */
  async unsubscribeByMail(message: MessageRef): Promise<void> {
    await this.#commit(async (client) => {
      const sent = await lockRecipient(client, message);
      if (!sent || sent.recipientKey === ERASED_ADDRESS) return false;
      const { stream, recipientKey } = sent;
      const link = { ...message, stream, recipientKey };
      await this.#parts.choices.lock(client, link, recipientKey);
      return this.#leave(client, { link, sent, stream, source: 'mail' });
    });
  }

  /** A link must not write into a workspace that has been deleted. */
  async #read(token: string) {
    const link = this.#parts.links.read(token);
    const workspace = link && (await findWorkspace(this.#parts.pool, link.workspaceId));
    return workspace && { link, workspace };
  }

  async #lock(client: Queryable, link: Subscription): Promise<SubscribedRecipient | undefined> {
    const sent = await lockRecipient(client, link);
    await this.#parts.choices.lock(client, link, link.recipientKey);
    return sent;
  }

  /** Returns whether anything changed. */
  async #comeBack(
    client: Queryable,
    link: Subscription,
    wanted: readonly string[],
  ): Promise<boolean> {
    const { streamSuppressions, choices } = this.#parts;
    const keys = this.#addressKeys(link);
    const streams = await streamSuppressions.resubscribe(client, link, keys, wanted);
    const { recipientKey: emailKey } = link;
    await choices.record(client, link, { emailKey, streams, status: 'subscribed', source: 'page' });
    return streams.length > 0;
  }

  /**
   * Returns whether anything changed. The suppression of an erased address must not contain it. A
   * message that is no longer stored has no events.
   */
  async #leave(
    client: Queryable,
    {
      link,
      sent,
      stream,
      source,
    }: {
      link: Subscription;
      sent: SubscribedRecipient | undefined;
      stream: string;
      source: UnsubscribeSource;
    },
  ): Promise<boolean> {
    const { clock, suppressions, choices, addressHash } = this.#parts;
    const { workspaceId, mode, messageId, recipientKey } = link;
    const reason = 'unsubscribe';
    const left = { emailKey: recipientKey, streams: [stream], status: 'unsubscribed' } as const;
    if (sent?.recipientKey !== recipientKey) {
      const emailKey = sent ? addressHash(workspaceId, mode, recipientKey) : recipientKey;
      const entry = { emailKey, stream, reason, evidence: null } as const;
      if (!(await suppressions.suppress(client, link, entry))) return false;
      await choices.record(client, link, { ...left, source });
      return true;
    }
    const message_id = encodeId('msg', messageId);
    const evidence = { message_id };
    const entry = { emailKey: recipientKey, stream, reason, evidence } as const;
    if (!(await suppressions.suppress(client, link, entry))) return false;
    await choices.record(client, link, { ...left, source });
    const sequence = await nextEventSequence(client, link, 0);
    const { recipient, attempts: attempt, metadata, tags } = sent;
    await appendEvents(client, [
      {
        ...{ workspaceId, mode, messageId, sequence },
        type: 'message.unsubscribed',
        atMs: clock.now(),
        data: { message_id, recipient, attempt, stream, metadata, tags, source },
      },
    ]);
    return true;
  }

  /** Both forms under which the address may be suppressed. */
  #addressKeys({ workspaceId, mode, recipientKey }: Subscription): string[] {
    return [recipientKey, this.#parts.addressHash(workspaceId, mode, recipientKey)];
  }

  async #commit(work: (client: Queryable) => Promise<boolean>): Promise<void> {
    if (await inTransaction(this.#parts.pool, work)) this.#parts.onEventsAppended();
  }
}

/**
 * The other subscription streams of the same sender. Streams with different brand names have different
 * senders in the eyes of a recipient, who must not learn about the others.
 */
function otherStreams(streams: StreamsByKey, key: string): Stream[] {
  const own = streams.get(key);
  if (!own) return [];
  return [...streams.values()].filter(
    (one) => one.key !== key && one.purpose === 'subscription' && one.brandName === own.brandName,
  );
}
