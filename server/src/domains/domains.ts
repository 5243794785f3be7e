import type { Caller } from '../accounts/caller.ts';
import { inTransaction, type Pool, type Queryable } from '../db/pool.ts';
import type { SearchedPage } from '../db/search-words.ts';
import { takeTurn } from '../db/take-turn.ts';
import type { Clock } from '../lib/clock.ts';
import { decodeId, uuidv7 } from '../lib/ids.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import type { DkimKeyGenerator } from './dkim-key-generator.ts';
import { newOwnershipToken } from './dns-records.ts';
import type { Domain, MailHosts } from './domain.ts';
import { appendVerifiedEvents } from './domain-events.ts';
import {
  type DomainSettings,
  parseNameOrThrow,
  type NewDomain,
  updatedSettings,
  newDomainSettings,
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
  promoteNextKeys,
  notifyDomainsChanged,
  updateDomain,
} from './domain-store.ts';
import type { DomainVerifier } from './domain-verifier.ts';
import type { DomainView } from './public-domain.ts';
import { shouldBePublished, keysToPublish, recordStates } from './record-states.ts';

/**
 * The life of sending domains: added with fresh keys and a token of their own, verified by their DNS
 * records, changed, rotated, deleted. Each change commits with its event and wakes every node, whose
 * caches forget the workspace's domains. A domain sends only once its workspace's own token was found
 * in its DNS, whoever else has verified the same name, or the operator gave their word for it.
 */

export interface DomainsParts {
  pool: Pool;
  clock: Clock;
  keyGenerator: DkimKeyGenerator;
  verifier: DomainVerifier;
  hosts: MailHosts;
  graceMs: number;
}

/** Whoever works with domains: a caller, or the operator at the command line. */
export type DomainActor = Pick<Caller, 'workspaceId' | 'mode' | 'keyId'>;

/** More than anyone sends from; it bounds what one workspace can make us look up every day. */
const DOMAINS_MAX = 1000;

export class Domains {
  readonly #parts: DomainsParts;

  constructor(parts: DomainsParts) {
    this.#parts = parts;
  }

  async create(owner: DomainActor, input: NewDomain): Promise<DomainView> {
    requireLiveKey(owner);
    const domain = await this.#insert(owner.workspaceId, input, { trusted: false });
    if (!domain) {
      throw new RefusedError('conflict', `This workspace has ${input.name} already.`);
    }
    return this.#view(domain);
  }

  /** The operator's word that the domain is the workspace's, without DNS: it may send at once. */
  async trust(workspaceId: string, input: NewDomain): Promise<DomainView> {
    const created = await this.#insert(workspaceId, input, { trusted: true });
    return this.#view(created ?? (await this.#trustExisting(workspaceId, input.name)));
  }

  async get(owner: DomainActor, id: string): Promise<DomainView> {
    return this.#view(orNotFound(await findDomain(this.#parts.pool, owner.workspaceId, id)));
  }

  /** By name, or by id (dom_…). */
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
  async list(owner: Pick<DomainActor, 'workspaceId'>, page: SearchedPage): Promise<DomainView[]> {
    const domains = await listDomains(this.#parts.pool, owner.workspaceId, page);
    return domains.map((domain) => this.#view(domain));
  }

  async change(owner: DomainActor, id: string, change: DomainSettings): Promise<DomainView> {
    requireLiveKey(owner);
    return inTransaction(this.#parts.pool, async (client) => {
      const domain = orNotFound(await findDomain(client, owner.workspaceId, id, 'for update'));
      const changed: Domain = { ...domain, ...updatedSettings(domain, change) };
      const hasNewRecord = changed.trackingHost !== domain.trackingHost && !domain.trusted;
      if (hasNewRecord) changed.checkDueAtMs = this.#nextCheckSoon(domain);
      await updateDomain(client, changed);
      await notifyDomainsChanged(client, domain.workspaceId);
      return this.#view(changed);
    });
  }

  /**
   * Never refused for mail that still waits: finding it would mean reading the whole queue. What
   * waits cannot be signed any more and ends as failed, each message with its event.
   */
  async remove(owner: DomainActor, id: string): Promise<void> {
    requireLiveKey(owner);
    await inTransaction(this.#parts.pool, async (client) => {
      if (!(await deleteDomain(client, owner.workspaceId, id))) throw notFound();
      await notifyDomainsChanged(client, owner.workspaceId);
    });
  }

  /** Looks every record up now. */
  async verify(owner: DomainActor, id: string): Promise<DomainView> {
    requireLiveKey(owner);
    const domain = orNotFound(await findDomain(this.#parts.pool, owner.workspaceId, id));
    return this.#view(orNotFound(await this.#parts.verifier.verify(domain)));
  }

  /**
   * The next keys sign from now on, new next ones are made, and the former stay published while
   * their mail is under way. Signing with a key that receivers cannot look up would spoil all mail,
   * so the next key's record must be there at this moment.
   */
  async rotateDkim(owner: DomainActor, id: string): Promise<DomainView> {
    requireLiveKey(owner);
    const { pool, clock, keyGenerator: keyMaker } = this.#parts;
    const domain = orNotFound(await findDomain(pool, owner.workspaceId, id));
    enforceRotationLimit(domain, clock.now());
    if (!domain.trusted) await this.#requireNextKeyPublished(domain);
    const nextSelector = nextRsaKey(domain).selector;
    const nowMs = clock.now();
    const newKeys = await keyMaker.generate('next', nowMs);
    return inTransaction(pool, async (client) => {
      const before = orNotFound(await findDomain(client, owner.workspaceId, id, 'for update'));
      if (nextRsaKey(before).selector !== nextSelector) {
        throw new RefusedError('conflict', 'The keys of this domain were rotated just now.');
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
    const { pool, clock, keyGenerator: keyMaker } = this.#parts;
    const settings = newDomainSettings(input);
    if (await findDomainByName(pool, workspaceId, settings.name)) return undefined;
    await enforceDomainLimit(pool, workspaceId);
    const nowMs = clock.now();
    const keys = await Promise.all([keyMaker.generate('current', nowMs), keyMaker.generate('next', nowMs)]);
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
      // Again, now that nobody else adds one: making keys takes its time.
      await takeTurn(client, 'domains', workspaceId);
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

  /** A new record is awaited: whoever publishes it need not wait a day for the next look. */
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
      `The next key is not published yet, and mail signed with it could not be checked: no right TXT record was found at ${record.name}.${why}`,
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
 * Both modes share the domains, and live mail depends on them: a test key may look, and that is all.
 * People choose a mode to look through; it takes no right from them.
 */
function requireLiveKey(owner: DomainActor): void {
  if (owner.mode === 'live' || owner.keyId === undefined) return;
  throw new RefusedError(
    'insufficient_scope',
    'Live mail depends on domains: a test key may read them, but only a live key may change them.',
    { fix: 'Use a live key (pr_live_…), or do it at {app}/app/domains.' },
  );
}

async function enforceDomainLimit(db: Queryable, workspaceId: string): Promise<void> {
  if ((await countDomains(db, workspaceId)) < DOMAINS_MAX) return;
  const detail = `A workspace has at most ${DOMAINS_MAX} domains. Delete one first.`;
  throw new RefusedError('quota_exceeded', detail);
}

/** Each leaves keys whose records are listed and looked up while their mail is under way. */
const ROTATIONS_MAX = 10;

function enforceRotationLimit(domain: Domain, nowMs: number): void {
  const retired = keysToPublish(domain, nowMs).filter(
    ({ slot, algorithm }) => slot === 'retired' && algorithm === 'rsa',
  );
  if (retired.length < ROTATIONS_MAX) return;
  const detail = `The keys of this domain were rotated ${retired.length} times in a week, and mail that was signed with each of them is still on its way. Wait until the oldest record may go.`;
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
  return new RefusedError('not_found', 'There is no domain with this id.');
}
