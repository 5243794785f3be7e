import { isDeepStrictEqual } from 'node:util';
import type { TenantScope } from '../accounts/tenant-scope.ts';
import { inTransaction, type Pool, type Queryable } from '../db/pool.ts';
import type { Clock } from '../lib/clock.ts';
import { decodeId, encodeId, uuidv7 } from '../lib/ids.ts';
import { invalidFields, RefusedError } from '../lib/refused-error.ts';
import { type Mailbox, parseMailbox } from '../mail/address.ts';
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

/**
 * The contacts of a workspace: one record per address, live and test separate. In come fields as
 * the API takes them; out go records. Sending reads contacts but never creates or changes them. An
 * update changes only the fields it names; attributes are merged by name.
 */

/** Identifies a contact by its address or its id. */
export type ContactIdentifier = { mailbox: Mailbox } | { id: string };

export class Contacts {
  readonly #pool: Pool;
  readonly #clock: Clock;

  constructor(parts: { pool: Pool; clock: Clock }) {
    this.#pool = parts.pool;
    this.#clock = parts.clock;
  }

  async create(scope: TenantScope, given: Record<string, unknown>): Promise<Contact> {
    const change = parseOrThrow(given);
    if (!change.mailbox) throw new Error('Broken invariant: a new contact has an address');
    const contact = newContact(change.mailbox, change, this.#clock.now());
    const written = await insertContacts(this.#pool, scope, [contact]);
    if (!written.has(contact.emailKey)) throw addressConflict(contact.email);
    return contact;
  }

  async get(scope: TenantScope, identifier: ContactIdentifier): Promise<Contact> {
    return found(await find(this.#pool, scope, identifier));
  }

  async update(
    scope: TenantScope,
    identifier: ContactIdentifier,
    given: Record<string, unknown>,
  ): Promise<Contact> {
    const change = parseOrThrow(given);
    return inTransaction(this.#pool, async (client) => {
      const before = found(await find(client, scope, identifier, 'for update'));
      return this.#write(client, scope, before, change);
    });
  }

  /** Creates the contact, or updates it when it exists. */
  async upsert(
    scope: TenantScope,
    mailbox: Mailbox,
    given: Record<string, unknown>,
  ): Promise<{ contact: Contact; created: boolean }> {
    const change = parseOrThrow(given);
    return inTransaction(this.#pool, async (client) => {
      // A concurrent insert of the same contact is waited for and then found. If the contact is
      // deleted in between, it is created again.
      for (;;) {
        const before = await findContactByKey(client, scope, mailbox.key, 'for update');
        if (before) {
          return { contact: await this.#write(client, scope, before, change), created: false };
        }
        const contact = newContact(mailbox, change, this.#clock.now());
        const written = await insertContacts(client, scope, [contact]);
        if (written.size === 1) return { contact, created: true };
      }
    });
  }

  async remove(scope: TenantScope, identifier: ContactIdentifier): Promise<void> {
    const { emailKey } = await this.get(scope, identifier);
    if (!(await deleteContact(this.#pool, scope, emailKey))) throw notFound();
  }

  async #write(
    client: Queryable,
    scope: TenantScope,
    before: Contact,
    change: ContactChange,
  ): Promise<Contact> {
    const after = applyChange(before, change, this.#clock.now());
    if (after === before) return before;
    try {
      await updateContacts(client, scope, [after]);
    } catch (error) {
      if (ADDRESS_CONFLICT_CODES.has((error as { code?: unknown }).code))
        throw addressConflict(after.email);
      throw error;
    }
    return after;
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
export function publicContact(scope: Pick<TenantScope, 'mode'>, contact: Contact) {
  return {
    id: encodeId('ctc', contact.id),
    email: contact.email,
    first_name: contact.firstName,
    last_name: contact.lastName,
    locale: contact.locale,
    attributes: contact.attributes,
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
  return new RefusedError('conflict', `A contact with the address ${email} already exists.`);
}

function parseOrThrow(given: Record<string, unknown>): ContactChange {
  const result = parseContact(given);
  if (result.ok) return result.change;
  throw invalidFields(result.errors);
}
