import { contactFieldErrors } from '../../../contacts/contact-fields.ts';
import { type Contacts, publicContact } from '../../../contacts/contacts.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { parseMailbox } from '../../../mail/address.ts';
import { type Operation, operation } from '../../operation.ts';
import { Contact, ContactPath, UpsertContact } from './schemas.ts';

export function upsertContact(deps: { contacts: Contacts }): Operation {
  return operation(
    {
      id: 'upsertContact',
      method: 'PUT',
      path: '/contacts/{email}',
      tag: 'Contacts',
      summary: 'Create or update a contact',
      description:
        'Creates the contact if the address has none; otherwise changes only the given fields. ' +
        'The operation is idempotent.',
      scope: 'write:contacts',
      params: ContactPath,
      body: UpsertContact,
      semanticChecks: contactFieldErrors,
      examples: {
        jane: { summary: 'A contact', value: { first_name: 'Jane', attributes: { plan: 'pro' } } },
      },
      responses: {
        200: { description: 'The updated contact.', body: Contact },
        201: { description: 'The new contact.', body: Contact },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, params, body }) => {
      const mailbox = mailboxOf((params as { email: string }).email);
      const fields = body as Record<string, unknown>;
      const { contact, created } = await deps.contacts.upsert(caller, mailbox, fields);
      return { status: created ? 201 : 200, body: publicContact(caller, contact) };
    },
  );
}

function mailboxOf(text: string) {
  const parsed = parseMailbox(text);
  if (parsed.ok) return parsed.mailbox;
  const { detail } = parsed;
  throw new RefusedError('validation_failed', `email: ${detail}`, {
    errors: [{ parameter: 'email', code: 'invalid_email', detail }],
  });
}
