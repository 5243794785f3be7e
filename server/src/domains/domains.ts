import type { Caller } from '../accounts/caller.ts';
import { lockForTransaction } from '../db/advisory-lock.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import type { SearchedPage } from '../db/statements/text-search.ts';
import { decodeId, uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import type { DkimKeyGenerator } from './dkim-key-generator.ts';
import { newOwnershipToken } from './dns-records.ts';
import { type DnsZone, findDnsZone } from './dns-zone.ts';
import type { Domain, MailHosts } from './domain.ts';
import { appendVerifiedEvents } from './domain-events.ts';
import {
  type DomainChange,
  type NewDomain,
  newDomainSettings,
  parseNameOrThrow,
  rejectMailboxProvider,
  updatedSettings,
} from './domain-settings.ts';
import { sendingStopsAtMs } from './domain-status.ts';
import {
  countDomains,
  deleteDomain,
  deleteKeys,
  findDomain,
  findDomainByName,
  insertDomain,
  insertKeys,
  listDomains,
  notifyDomainsChanged,
  promoteNextKeys,
  updateDomain,
} from './domain-store.ts';
import type { DomainVerifier } from './domain-verifier.ts';
import type { PerWorkspaceResolver } from './per-workspace-resolver.ts';
import type { DomainView } from './public-domain.ts';
import { endReceivingElsewhere, isReceivedElsewhere } from './receiving-domain-store.ts';
import { keysToPublish, recordStates, shouldBePublished } from './record-states.ts';

/**
 * The lifecycle of sending domains: created with new keys and an ownership token, verified through
 * DNS, updated, rotated and deleted. Each change commits together with its event and notifies every
 * node, so that caches drop the workspace's domains. A domain can send only after its own
 * workspace's token was found in DNS, even if another workspace has verified the same name, or when
 * the operator trusts it.
 */

export interface DomainsParts {
  pool: Pool;
  clock: Clock;
  keyGenerator: DkimKeyGenerator;
  verifier: DomainVerifier;
  resolvers: PerWorkspaceResolver;
  hosts: MailHosts;
  graceMs: number;
}

/** Who manages domains: an API caller, or the operator on the command line. */
export type DomainActor = Pick<Caller, 'workspaceId'>;

/** More than any workspace needs; it bounds the DNS lookups that one workspace can cause. */
const DOMAINS_MAX = 1000;

export class Domains {
  readonly #parts: DomainsParts;

  constructor(parts: DomainsParts) {
    this.#parts = parts;
  }

  async create(owner: DomainActor, input: NewDomain): Promise<DomainView> {
    rejectMailboxProvider(input.name);
    const domain = await this.#insert(owner.workspaceId, input, { trusted: false });
    if (!domain) {
      throw new RefusedError('conflict', `${input.name} already exists in this workspace.`, {
        fix: 'GET /api/v1/domains lists the domains of the workspace with their DNS records.',
      });
    }
    return this.#view(domain);
  }

  /**
   * Adds or marks a domain as trusted: the operator vouches for it, so it can send without DNS
   * checks.
   */
  async trust(workspaceId: string, input: NewDomain): Promise<DomainView> {
    const created = await this.#insert(workspaceId, input, { trusted: true });
    return this.#view(created ?? (await this.#trustExisting(workspaceId, input.name)));
  }

  async get(owner: DomainActor, id: string): Promise<DomainView> {
    return this.#view(orNotFound(await findDomain(this.#parts.pool, owner.workspaceId, id)));
  }

  /** By name or by id (dom_…). */
  async find(owner: DomainActor, idOrName: string): Promise<DomainView | undefined> {
    const { pool } = this.#parts;
    const id = decodeId('dom', idOrName);
    const parsed = parseDomainName(idOrName);
    const domain = id
      ? await findDomain(pool, owner.workspaceId, id)
      : parsed.ok && (await findDomainByName(pool, owner.workspaceId, parsed.domain));
    return domain ? this.#view(domain) : undefined;
  }

  /** Newest first. */
  async list(owner: DomainActor, page: SearchedPage): Promise<DomainView[]> {
    const domains = await listDomains(this.#parts.pool, owner.workspaceId, page);
    return domains.map((domain) => this.#view(domain));
  }

  async change(owner: DomainActor, id: string, change: DomainChange): Promise<DomainView> {
    const changing = inTransaction(this.#parts.pool, async (client) => {
      const domain = orNotFound(await findDomain(client, owner.workspaceId, id, 'for update'));
      const changed: Domain = { ...domain, ...updatedSettings(domain, change) };
      const startsReceiving = changed.receiving && !domain.receiving;
      if (startsReceiving) await takeOverReceiving(client, domain);
      const hasNewRecord = startsReceiving || changed.trackingHost !== domain.trackingHost;
      if (hasNewRecord && !domain.trusted) changed.checkDueAtMs = this.#nextCheckSoon(domain);
      await updateDomain(client, changed);
      await notifyDomainsChanged(client, domain.workspaceId);
      return this.#view(changed);
    });
    return changing.catch((error) => {
      throw isReceivedElsewhere(error) ? receivedElsewhere() : error;
    });
  }

  /**
   * Deletes a domain even if mail is queued: finding that mail would mean reading the whole queue.
   * Queued mail can no longer be signed and fails, each message with its event.
   */
  async remove(owner: DomainActor, id: string): Promise<void> {
    await inTransaction(this.#parts.pool, async (client) => {
      if (!(await deleteDomain(client, owner.workspaceId, id))) throw notFound();
      await notifyDomainsChanged(client, owner.workspaceId);
    });
  }

  /** Checks every record now. */
  async verify(owner: DomainActor, id: string): Promise<DomainView> {
    const domain = orNotFound(await findDomain(this.#parts.pool, owner.workspaceId, id));
    return this.#view(orNotFound(await this.#parts.verifier.verify(domain)));
  }

  /** The zone that the domain's records are published in; undefined if none is found. */
  async dnsZone(owner: DomainActor, id: string): Promise<DnsZone | undefined> {
    const { pool, resolvers } = this.#parts;
    const domain = orNotFound(await findDomain(pool, owner.workspaceId, id));
    return findDnsZone(domain.name, resolvers.forWorkspace(owner.workspaceId));
  }

  /**
   * Promotes the next keys and creates new next keys; the previous ones stay published while their
   * mail is in transit. Mail signed with an unpublished key would fail verification, so the record
   * of the next key must exist right now.
   */
  async rotateDkim(owner: DomainActor, id: string): Promise<DomainView> {
    const { pool, clock, keyGenerator } = this.#parts;
    const domain = orNotFound(await findDomain(pool, owner.workspaceId, id));
    enforceRotationLimit(domain, clock.now());
    if (!domain.trusted) await this.#requireNextKeyPublished(domain);
    const nextSelector = nextRsaKey(domain).selector;
    const nowMs = clock.now();
    const newKeys = await keyGenerator.generate('next', nowMs);
    return inTransaction(pool, async (client) => {
      const before = orNotFound(await findDomain(client, owner.workspaceId, id, 'for update'));
      if (nextRsaKey(before).selector !== nextSelector) {
        throw new RefusedError('conflict', 'The keys of this domain have just been rotated.');
      }
      const expired = before.keys.filter((key) => !shouldBePublished(key, nowMs));
      await deleteKeys(
        client,
        before,
        expired.map((key) => key.selector),
      );
      await promoteNextKeys(client, before, nowMs);
      await insertKeys(client, before, newKeys);
      const checkDueAtMs = before.trusted ? null : this.#nextCheckSoon(before);
      await updateDomain(client, { ...before, checkDueAtMs });
      await notifyDomainsChanged(client, before.workspaceId);
      return this.#view(orNotFound(await findDomain(client, owner.workspaceId, id)));
    });
  }

  async #insert(
    workspaceId: string,
    input: NewDomain,
    { trusted }: { trusted: boolean },
  ): Promise<Domain | undefined> {
    const { pool, clock, keyGenerator } = this.#parts;
    const settings = newDomainSettings(input);
    if (await findDomainByName(pool, workspaceId, settings.name)) return undefined;
    await enforceDomainLimit(pool, workspaceId);
    const nowMs = clock.now();
    const keys = await Promise.all([
      keyGenerator.generate('current', nowMs),
      keyGenerator.generate('next', nowMs),
    ]);
    const domain: Domain = {
      workspaceId,
      id: uuidv7(nowMs),
      ...settings,
      status: trusted ? 'verified' : 'pending',
      trusted,
      ownershipToken: newOwnershipToken(),
      checks: [],
      keys: keys.flat(),
      createdAtMs: nowMs,
      verifiedAtMs: trusted ? nowMs : null,
      checkedAtMs: null,
      checkDueAtMs: trusted ? null : nowMs + FIRST_CHECK_MS,
    };
    return inTransaction(pool, async (client) => {
      // Check again under the lock: generating keys takes a while.
      await lockForTransaction(client, 'domains', workspaceId);
      await enforceDomainLimit(client, workspaceId);
      if (!(await insertDomain(client, domain))) return undefined;
      await insertKeys(client, domain, keys.flat());
      if (trusted) await appendVerifiedEvents(client, { status: 'pending' }, domain, nowMs);
      await notifyDomainsChanged(client, workspaceId);
      return domain;
    });
  }

  async #trustExisting(workspaceId: string, givenName: string): Promise<Domain> {
    const { pool, clock } = this.#parts;
    const name = parseNameOrThrow(givenName);
    const nowMs = clock.now();
    return inTransaction(pool, async (client) => {
      const before = orNotFound(await findDomainByName(client, workspaceId, name, 'for update'));
      if (before.trusted) return before;
      const isNew = before.status !== 'verified';
      const domain: Domain = {
        ...before,
        trusted: true,
        status: 'verified',
        verifiedAtMs: isNew ? nowMs : before.verifiedAtMs,
        checkDueAtMs: null,
      };
      await updateDomain(client, domain);
      if (isNew) await appendVerifiedEvents(client, before, domain, nowMs);
      await notifyDomainsChanged(client, workspaceId);
      return domain;
    });
  }

  /**
   * Schedules an early check, so that a newly required record is noticed long before the daily
   * check.
   */
  #nextCheckSoon({ checkDueAtMs }: Domain): number {
    return Math.min(
      checkDueAtMs ?? Number.POSITIVE_INFINITY,
      this.#parts.clock.now() + FIRST_CHECK_MS,
    );
  }

  async #requireNextKeyPublished(domain: Domain): Promise<void> {
    const { verifier, hosts, clock } = this.#parts;
    const checked = orNotFound(await verifier.verify(domain));
    const records = recordStates(checked, hosts, clock.now());
    const record = records.find((one) => one.slot === 'next' && one.required);
    if (!record || record.status === 'found') return;
    const why = record.mistakes.map(({ detail }) => ` ${detail}`).join('');
    throw new RefusedError(
      'conflict',
      `The next key is not published yet, so mail signed with it could not be verified: no matching TXT record was found at ${record.name}.${why}`,
    );
  }

  #view(domain: Domain): DomainView {
    const { hosts, clock, graceMs } = this.#parts;
    const nowMs = clock.now();
    const records = recordStates(domain, hosts, nowMs);
    return {
      ...domain,
      keys: keysToPublish(domain, nowMs),
      records,
      sendingStopsAtMs: sendingStopsAtMs(domain, records, graceMs),
    };
  }
}

const FIRST_CHECK_MS = 60_000;

/**
 * Only the owner of a name may receive its mail. A workspace whose domain has failed no longer proves
 * that it is the owner, so it loses the mail to one that does.
 */
async function takeOverReceiving(db: Queryable, domain: Domain): Promise<void> {
  if (domain.status !== 'verified' && domain.status !== 'degraded') {
    const detail = `${domain.name} is not verified, so it cannot receive mail.`;
    throw new RefusedError('domain_not_verified', detail);
  }
  const previous = await endReceivingElsewhere(db, domain);
  if (previous !== undefined) await notifyDomainsChanged(db, previous);
}

function receivedElsewhere(): RefusedError {
  const detail =
    'Another workspace of this server receives the mail of this domain, and only one can. Turn off receiving there first.';
  return new RefusedError('conflict', detail);
}

async function enforceDomainLimit(db: Queryable, workspaceId: string): Promise<void> {
  if ((await countDomains(db, workspaceId)) < DOMAINS_MAX) return;
  const detail = `A workspace can have at most ${DOMAINS_MAX} domains. Delete one first.`;
  throw new RefusedError('quota_exceeded', detail);
}

/**
 * Each rotation leaves retired keys whose records are listed and checked while their mail is in
 * transit.
 */
const ROTATIONS_MAX = 10;

function enforceRotationLimit(domain: Domain, nowMs: number): void {
  const retired = keysToPublish(domain, nowMs).filter(
    ({ slot, algorithm }) => slot === 'retired' && algorithm === 'rsa',
  );
  if (retired.length < ROTATIONS_MAX) return;
  const detail = `The keys of this domain were rotated ${retired.length} times within a week, and mail signed with each of them is still in transit. Wait until the oldest record can be removed.`;
  throw new RefusedError('conflict', detail);
}

function nextRsaKey(domain: Domain) {
  const key = domain.keys.find(({ slot, algorithm }) => slot === 'next' && algorithm === 'rsa');
  if (!key) throw new Error(`Broken invariant: ${domain.id} has a next key`);
  return key;
}

function orNotFound(domain: Domain | undefined): Domain {
  if (!domain) throw notFound();
  return domain;
}

function notFound(): RefusedError {
  return new RefusedError('not_found', 'No such domain exists.');
}
