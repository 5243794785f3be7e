import { createHash, randomBytes } from 'node:crypto';
import { RateLimiter } from '../accounts/rate-limit.ts';
import type { Mode, TenantScope } from '../accounts/tenant-scope.ts';
import { readMoveState } from '../accounts/workspace-move-store.ts';
import { WorkspaceMovingError } from '../accounts/workspace-moving.ts';
import { inTransaction, type Pool } from '../db/connections/pool.ts';
import type { ReceivingDomain } from '../domains/domain.ts';
import type { PerWorkspaceResolver } from '../domains/per-workspace-resolver.ts';
import { encodeId, uuidv7 } from '../lib/ids.ts';
import type { Log } from '../lib/log.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { FairQueue } from '../lib/scheduling/fair-queue.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseMailbox } from '../mail/address.ts';
import type { MailAuthenticator } from '../mail/authentication/authenticate-mail.ts';
import type { MailParser } from '../mail/mime/mail-parser.ts';
import { malformedMail, type ParsedMail } from '../mail/mime/parse-mail.ts';
import type { CountedQuota, QuotaReservation } from '../quotas/counted-quota.ts';
import { findAnsweredMessage } from './find-answered-message.ts';
import type { InboundMessage, NewInboundMessage } from './inbound-message.ts';
import { insertInboundMessage } from './inbound-message-store.ts';
import { countReceived, type MailClient, receivedHeader } from './received-header.ts';
import { addressesOf, type MailSummary, summarizeMail } from './summarize-mail.ts';

/**
 * Receives mail for the domains of workspaces, within their quota of content. In come the bytes of a
 * mail and its envelope; what comes out is committed: one inbound message with its event for each
 * workspace among the recipients, all in one transaction. The same transmission is stored once, however often it arrives. Nothing is ever sent
 * in reply, and nothing in the mail decides whether it is stored, except what makes it unreadable.
 */

/** An address at a domain for which receiving is on. */
export interface InboundAddress {
  kind: 'inbound';
  workspaceId: string;
  /** The receiving domain. */
  domain: string;
  /** As the client spelled it, with the domain in lower case. */
  address: string;
}

export interface Transmission {
  mailFrom: string;
  to: readonly InboundAddress[];
  /** Undefined for simulated mail, which arrives in test mode. */
  client: MailClient | undefined;
  data: Buffer;
}

export const INBOUND_OUTCOMES = [
  'stored',
  /** Stored before: the sender did not get the reply. */
  'duplicate',
  /** It cannot be parsed. */
  'malformed',
  /** It has passed so many servers that it must be in a loop. */
  'loop',
  /** More mail arrives for the workspace than its share. */
  'throttled',
  /** The workspace may not keep more content. */
  'over_quota',
] as const;
export type InboundOutcome = (typeof INBOUND_OUTCOMES)[number];

export interface InboundReceiverParts {
  pool: Pool;
  clock: Clock;
  log: Log;
  parser: MailParser;
  authenticator: MailAuthenticator;
  resolvers: PerWorkspaceResolver;
  contentQuota: Pick<CountedQuota, 'reserve'>;
  domains: { find(name: string): Promise<ReceivingDomain | undefined> };
  /** The name of this server in Received fields. */
  hostname: string;
  onEventsAppended: () => void;
  limits?: Partial<InboundLimits> | undefined;
}

export interface InboundLimits {
  /** Mail for a workspace, on this node. */
  perSecond: number;
  burst: number;
}

const INBOUND_LIMITS: InboundLimits = { perSecond: 50, burst: 500 };
/** Mail that is being parsed, authenticated and stored. Most of the time it waits for name servers. */
const CONCURRENCY_MAX = 64;
/** RFC 5321 section 6.3 asks for at least 100 or a good reason; mail that is delivered has about ten. */
const RECEIVED_MAX = 50;

export class InboundReceiver {
  readonly #parts: InboundReceiverParts;
  readonly #rate: RateLimiter;
  readonly #queue = new FairQueue(CONCURRENCY_MAX);

  constructor(parts: InboundReceiverParts) {
    this.#parts = parts;
    const { perSecond, burst } = { ...INBOUND_LIMITS, ...parts.limits };
    this.#rate = new RateLimiter(perSecond, burst, parts.clock);
  }

  /**
   * Undefined: no workspace here receives mail for the domain. Throws if the workspace is on its way to
   * another installation.
   */
  async resolveAddress(address: string): Promise<InboundAddress | undefined> {
    const parsed = parseMailbox(address);
    if (!parsed.ok) return undefined;
    const { email, domain } = parsed.mailbox;
    const workspaceId = await this.findReceiver(domain);
    return workspaceId === undefined
      ? undefined
      : { kind: 'inbound', workspaceId, domain, address: email };
  }

  /** The workspace that receives the mail of a domain, which is in lower case, here. */
  async findReceiver(domain: string): Promise<string | undefined> {
    const found = await this.#parts.domains.find(domain);
    if (!found) return undefined;
    const state = await readMoveState(this.#parts.pool, found.workspaceId);
    if (state === 'moving') throw new WorkspaceMovingError();
    return state === 'active' ? found.workspaceId : undefined;
  }

  /** Everything is committed when it resolves. */
  async receive(transmission: Transmission): Promise<InboundOutcome> {
    return (await this.#receive(transmission)).outcome;
  }

  /** Composed mail of a workspace to itself. Returns the message that is stored in test mode. */
  async simulate(
    { workspaceId }: TenantScope,
    { from, to, domain, data }: { from: string; to: string; domain: string; data: Buffer },
  ): Promise<InboundMessage> {
    const { outcome, messages, refusal } = await this.#receive({
      mailFrom: from,
      to: [{ kind: 'inbound', workspaceId, domain, address: to }],
      client: undefined,
      data,
    });
    if (messages[0]) return messages[0];
    if (refusal) throw refusal;
    if (outcome !== 'throttled') throw malformedMail('The message cannot be parsed.');
    const detail = 'Too many inbound messages arrive for the workspace. Nothing was accepted.';
    throw new RefusedError('rate_limited', detail, { retryAfterSeconds: 1 });
  }

  async #receive(transmission: Transmission): Promise<Received> {
    const workspaceIds = [...new Set(transmission.to.map(({ workspaceId }) => workspaceId))].sort();
    const [owner = ''] = workspaceIds;
    if (countReceived(transmission.data) > RECEIVED_MAX) return nothing('loop');
    if (workspaceIds.some((id) => !this.#rate.take(id).allowed)) return nothing('throttled');
    return this.#queue.run(owner, () => this.#storeWithinQuotas(transmission, workspaceIds));
  }

  /** All of it counts for each workspace, as it does when it is stored. */
  async #storeWithinQuotas(
    transmission: Transmission,
    workspaceIds: readonly string[],
  ): Promise<Received> {
    const bytes = transmission.data.length;
    const reserved = new Map<string, QuotaReservation>();
    let received = nothing('over_quota');
    try {
      for (const workspaceId of workspaceIds) {
        const reservation = await this.#parts.contentQuota.reserve(workspaceId, bytes);
        reserved.set(workspaceId, reservation);
        if (reservation.refusal) return { ...received, refusal: reservation.refusal };
      }
      received = await this.#store(transmission, workspaceIds);
      return received;
    } finally {
      const stored = new Set(received.messages.map(({ workspaceId }) => workspaceId));
      for (const [id, reservation] of reserved) reservation.settle(stored.has(id) ? bytes : 0);
    }
  }

  async #store(transmission: Transmission, workspaceIds: readonly string[]): Promise<Received> {
    const { pool, clock, onEventsAppended, log } = this.#parts;
    const [first = ''] = workspaceIds;
    const mail = await this.#parse(first, transmission.data);
    if (!mail) return nothing('malformed');
    const summary = summarizeMail(mail);
    const authentication = await this.#authenticate(first, transmission, mail);
    const receivedAtMs = clock.now();
    const messages = await Promise.all(
      workspaceIds.map(async (workspaceId) => {
        const scope = { workspaceId, mode: modeOf(transmission) };
        const answered = await findAnsweredMessage(pool, scope, summary.details);
        return this.#toMessage(scope, transmission, receivedAtMs, {
          ...summary,
          inReplyToMessageId: answered,
          details: { ...summary.details, authentication },
        });
      }),
    );
    const stored = await inTransaction(pool, async (client) => {
      const inserted: NewInboundMessage[] = [];
      // In the order of their ids, so that two transmissions do not wait for each other.
      for (const message of messages) {
        const state = await readMoveState(client, message.workspaceId);
        if (state === 'moving') throw new WorkspaceMovingError();
        // The next try is refused at RCPT.
        if (state !== 'active') throw new RefusedError('overloaded', GONE);
        if (await insertInboundMessage(client, message)) inserted.push(message);
      }
      return inserted;
    });
    if (stored.length > 0) onEventsAppended();
    for (const { id, workspaceId } of stored) {
      const ids = { inbound_message: encodeId('inm', id), workspace: encodeId('wsp', workspaceId) };
      log.debug(ids, 'inbound message stored');
    }
    return { outcome: stored.length > 0 ? 'stored' : 'duplicate', messages: stored };
  }

  /** Undefined if it cannot be parsed. */
  async #parse(workspaceId: string, data: Buffer): Promise<ParsedMail | undefined> {
    try {
      return await this.#parts.parser.parse(workspaceId, data, { forSending: false });
    } catch (error) {
      if (error instanceof RefusedError && error.code === 'malformed_request') return undefined;
      throw error;
    }
  }

  async #authenticate(
    workspaceId: string,
    { client, mailFrom, data }: Transmission,
    mail: ParsedMail,
  ) {
    if (!client) return null;
    const from = mail.from.map((mailboxes) => mailboxes.map(({ address }) => address));
    const resolver = this.#parts.resolvers.forWorkspace(workspaceId);
    return this.#parts.authenticator.authenticate(
      workspaceId,
      { data, mailFrom, client, from },
      resolver,
    );
  }

  #toMessage(
    scope: TenantScope,
    { to, mailFrom, client, data }: Transmission,
    receivedAtMs: number,
    summary: MailSummary & Pick<InboundMessage, 'inReplyToMessageId' | 'details'>,
  ): NewInboundMessage {
    const own = to.filter(({ workspaceId }) => workspaceId === scope.workspaceId);
    const recipients = own.map(({ address }) => address);
    const id = uuidv7(receivedAtMs);
    const raw = client
      ? Buffer.concat([
          receivedHeader(client, {
            hostname: this.#parts.hostname,
            id: encodeId('inm', id),
            recipients,
            atMs: receivedAtMs,
          }),
          data,
        ])
      : data;
    return {
      ...scope,
      ...summary,
      id,
      receivedAtMs,
      domain: own[0]?.domain ?? '',
      mailFrom,
      recipients,
      addresses: addressesOf(summary, { from: mailFrom, to: recipients }),
      sizeBytes: raw.length,
      fingerprint: client ? fingerprintOf(mailFrom, recipients, data) : randomBytes(32),
      raw,
    };
  }
}

const GONE = 'A recipient has just been deleted. Nothing was accepted.';

interface Received {
  outcome: InboundOutcome;
  /** Those that were stored now. */
  messages: NewInboundMessage[];
  /** Why it is over a quota. */
  refusal?: RefusedError;
}

function nothing(outcome: InboundOutcome): Received {
  return { outcome, messages: [] };
}

function modeOf({ client }: Transmission): Mode {
  return client ? 'live' : 'test';
}

function fingerprintOf(mailFrom: string, recipients: readonly string[], data: Buffer): Buffer {
  const envelope = JSON.stringify([mailFrom, [...recipients].sort()]);
  return createHash('sha256').update(envelope).update('\0').update(data).digest();
}
