import { isDeepStrictEqual } from 'node:util';
import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../db/connections/pool.ts';
import { decodeId, encodeId, uuidv7 } from '../lib/ids.ts';
import { invalidFields, RefusedError } from '../lib/refused-error.ts';
import type { Clock } from '../lib/time/clock.ts';
import { type Mailbox, parseMailbox } from '../mail/address.ts';
import type { CountedQuota } from '../quotas/counted-quota.ts';
import {
  attributesTooLarge,
  type ContactChange,
  mergeAttributes,
  parseContact,
} from './contact-fields.ts';
import {
  type Contact,
  deleteContact,
  findContactById,
  findContactByKey,
  insertContacts,
  updateContacts,
} from './contact-store.ts';
import {
  type ContactSubscriptions,
  publicSubscriptions,
  type SubscribedContact,
} from './contact-subscriptions.ts';
import { type ContactPosition, type ContactQuery, searchContacts } from './search-contacts.ts';

/**
 * The contacts of a workspace: one record per address, live and test separate. In come fields as
 * the API takes them; out go records. Sending reads contacts but never creates or changes them. An
 * update changes only the fields it names; attributes are merged by name.
 */

/** Identifies a contact by its address or its id. */
export type ContactIdentifier = { mailbox: Mailbox } | { id: string };

/** Who changes a contact: an API key, or a member in the dashboard. */
export interface ContactEditor extends TenantScope {
  /** Undefined for a member. */
  keyId: string | undefined;
}

export class Contacts {
  readonly #pool: Pool;
  readonly #clock: Clock;
  readonly #subscriptions: ContactSubscriptions;
  readonly #quota: CountedQuota | undefined;

  /** Without a quota, any number of contacts can be created. */
  constructor(parts: {
    pool: Pool;
    clock: Clock;
    subscriptions: ContactSubscriptions;
    contactQuota?: CountedQuota;
  }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
    this.#subscriptions = parts.subscriptions;
    this.#quota = parts.contactQuota;
  }

  async create(editor: ContactEditor, given: Record<string, unknown>): Promise<SubscribedContact> {
    const change = await this.#parse(editor, given);
    if (!change.mailbox) throw new Error('Broken invariant: a new contact has an address');
    const contact = newContact(change.mailbox, change, this.#clock.now());
    const result = await this.#reserveOne(editor, async (refusal) => {
      if (refusal) throw refusal;
      return inTransaction(this.#pool, async (client) => {
        const written = await insertContacts(client, editor, [contact]);
        if (!written.has(contact.emailKey)) throw addressConflict(contact.email);
        const subscribed = await this.#subscribe(client, editor, contact, change);
        return { contact: subscribed, created: true };
      });
    });
    return result.contact;
  }

  async get(scope: TenantScope, identifier: ContactIdentifier): Promise<SubscribedContact> {
    const contact = found(await find(this.#pool, scope, identifier));
    const [subscribed] = await this.#subscriptions.of(this.#pool, scope, [contact]);
    return subscribed as SubscribedContact;
  }

  /** A page of contacts with their subscriptions, read from `pool`, which may be that of a standby. */
  async search(
    pool: Pool,
    scope: TenantScope,
    query: ContactQuery,
    page: { after: ContactPosition | undefined; limit: number },
  ): Promise<{ contacts: SubscribedContact[]; next: ContactPosition | null }> {
    const { contacts, next } = await searchContacts(pool, scope, query, page);
    return { contacts: await this.#subscriptions.of(pool, scope, contacts), next };
  }

  async update(
    editor: ContactEditor,
    identifier: ContactIdentifier,
    given: Record<string, unknown>,
  ): Promise<SubscribedContact> {
    const change = await this.#parse(editor, given);
    return inTransaction(this.#pool, async (client) => {
      const before = found(await find(client, editor, identifier, 'for update'));
      return this.#write(client, editor, before, change);
    });
  }

  /** Creates the contact, or updates it when it exists. */
  async upsert(
    editor: ContactEditor,
    mailbox: Mailbox,
    given: Record<string, unknown>,
  ): Promise<{ contact: SubscribedContact; created: boolean }> {
    const change = await this.#parse(editor, given);
    return this.#reserveOne(editor, (refusal) =>
      inTransaction(this.#pool, async (client) => {
        // A concurrent insert of the same contact is waited for and then found. If the contact is
        // deleted in between, it is created again.
        for (;;) {
          const before = await findContactByKey(client, editor, mailbox.key, 'for update');
          if (before) {
            return { contact: await this.#write(client, editor, before, change), created: false };
          }
          if (refusal) throw refusal;
          const contact = newContact(mailbox, change, this.#clock.now());
          const written = await insertContacts(client, editor, [contact]);
          if (written.size === 1) {
            const subscribed = await this.#subscribe(client, editor, contact, change);
            return { contact: subscribed, created: true };
          }
        }
      }),
    );
  }

  /** Reserves one new contact in the quota while `write` runs; test contacts need none. */
  async #reserveOne<T extends { created: boolean }>(
    { workspaceId, mode }: TenantScope,
    write: (refusal: RefusedError | undefined) => Promise<T>,
  ): Promise<T> {
    const quota = mode === 'live' ? this.#quota : undefined;
    // Before a transaction, because it may read: a request must not wait for a second connection.
    const reservation = await quota?.reserve(workspaceId, 1);
    let created = 0;
    try {
      const result = await write(reservation?.refusal);
      if (result.created) created = 1;
      return result;
    } finally {
      reservation?.settle(created);
    }
  }

  async remove(scope: TenantScope, identifier: ContactIdentifier): Promise<void> {
    const { emailKey } = await this.get(scope, identifier);
    if (!(await deleteContact(this.#pool, scope, emailKey))) throw notFound();
  }

  async #parse(scope: TenantScope, given: Record<string, unknown>): Promise<ContactChange> {
    const change = parseOrThrow(given);
    await this.#subscriptions.check(scope.workspaceId, change.subscriptions ?? []);
    return change;
  }

  async #write(
    client: Queryable,
    editor: ContactEditor,
    before: Contact,
    change: ContactChange,
  ): Promise<SubscribedContact> {
    const after = applyChange(before, change, this.#clock.now());
    if (after === before) return this.#subscribe(client, editor, before, change);
    try {
      await updateContacts(client, editor, [after]);
    } catch (error) {
      if (ADDRESS_CONFLICT_CODES.has((error as { code?: unknown }).code))
        throw addressConflict(after.email);
      throw error;
    }
    if (after.emailKey !== before.emailKey) {
      await this.#subscriptions.follow(client, editor, before.emailKey, after.emailKey);
    }
    return this.#subscribe(client, editor, after, change);
  }

  /** Sets the given subscriptions of a contact that is locked, and returns it with all of them. */
  async #subscribe(
    client: Queryable,
    editor: ContactEditor,
    contact: Contact,
    { subscriptions = [] }: ContactChange,
  ): Promise<SubscribedContact> {
    const { emailKey } = contact;
    const wanted = subscriptions.map((one) => ({ ...one, emailKey }));
    const source = editor.keyId === undefined ? 'dashboard' : 'api';
    await this.#subscriptions.set(client, editor, wanted, source);
    const [subscribed] = await this.#subscriptions.of(client, editor, [contact]);
    return subscribed as SubscribedContact;
  }
}

/**
 * A unique violation, or a deadlock: it occurs only when the contact that has the address is being
 * changed and waits for us in turn.
 */
const ADDRESS_CONFLICT_CODES = new Set<unknown>(['23505', '40P01']);

/** Parses a path parameter. Undefined when it is neither an address nor an id. */
export function parseContactIdentifier(text: string): ContactIdentifier | undefined {
  const id = decodeId('ctc', text);
  if (id !== undefined) return { id };
  const address = parseMailbox(text);
  return address.ok ? { mailbox: address.mailbox } : undefined;
}

/** A contact that does not exist yet. Throws when its attributes are too large. */
export function newContact(mailbox: Mailbox, change: ContactChange, nowMs: number): Contact {
  const empty: Contact = {
    id: uuidv7(nowMs),
    email: mailbox.email,
    emailKey: mailbox.key,
    firstName: null,
    lastName: null,
    locale: null,
    attributes: {},
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  return applyChange(empty, { ...change, mailbox }, nowMs);
}

/** The contact after a change. The same object when nothing changed. */
export function applyChange(before: Contact, change: ContactChange, nowMs: number): Contact {
  const attributes = mergeAttributes(before.attributes, change.attributes);
  if (!attributes) {
    const error = attributesTooLarge();
    throw new RefusedError('validation_failed', `/attributes: ${error.detail}`, {
      errors: [error],
    });
  }
  const { mailbox, firstName = before.firstName, lastName = before.lastName } = change;
  const { locale = before.locale } = change;
  const email = mailbox?.email ?? before.email;
  const emailKey = mailbox?.key ?? before.emailKey;
  const after = { ...before, email, emailKey, firstName, lastName, locale, attributes };
  return isDeepStrictEqual(after, before) ? before : { ...after, updatedAtMs: nowMs };
}

/** The public form of a contact, in the API and in exports. */
export function publicContact(scope: Pick<TenantScope, 'mode'>, contact: SubscribedContact) {
  return {
    id: encodeId('ctc', contact.id),
    email: contact.email,
    first_name: contact.firstName,
    last_name: contact.lastName,
    locale: contact.locale,
    attributes: contact.attributes,
    subscriptions: publicSubscriptions(contact.subscriptions),
    mode: scope.mode,
    created_at: new Date(contact.createdAtMs).toISOString(),
    updated_at: new Date(contact.updatedAtMs).toISOString(),
  };
}

function find(
  db: Queryable,
  scope: TenantScope,
  identifier: ContactIdentifier,
  lock: '' | 'for update' = '',
): Promise<Contact | undefined> {
  return 'id' in identifier
    ? findContactById(db, scope, identifier.id, lock)
    : findContactByKey(db, scope, identifier.mailbox.key, lock);
}

function found(contact: Contact | undefined): Contact {
  if (!contact) throw notFound();
  return contact;
}

export function notFound(): RefusedError {
  return new RefusedError('not_found', 'There is no contact with this address or id.');
}

function addressConflict(email: string): RefusedError {
  return new RefusedError('conflict', `A contact with the address ${email} already exists.`, {
    fix: 'PUT /api/v1/contacts/{email} changes a contact, or creates it if it does not exist.',
  });
}

function parseOrThrow(given: Record<string, unknown>): ContactChange {
  const result = parseContact(given);
  if (result.ok) return result.change;
  throw invalidFields(result.errors);
}
