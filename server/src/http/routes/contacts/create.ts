import { Type } from 'typebox';
import { contactFieldErrors } from '../../../contacts/contact-fields.ts';
import { type Contacts, publicContact } from '../../../contacts/contacts.ts';
import { type Operation, operation } from '../../operation.ts';
import { API_PREFIX } from '../../server/api-prefix.ts';
import { CONTACT_EXAMPLE, Contact, CreateContact } from './schemas.ts';

export function createContact(deps: { contacts: Contacts }): Operation {
  return operation(
    {
      id: 'createContact',
      method: 'POST',
      path: '/contacts',
      tag: 'Contacts',
      summary: 'Create a contact',
      description:
        'Live and test contacts are separate: the contact gets the mode of the key. Each ' +
        'address has at most one contact, regardless of case. `PUT /contacts/{email}` creates ' +
        'or updates it in one step.',
      scope: 'write:contacts',
      body: CreateContact,
      semanticChecks: contactFieldErrors,
      examples: { full: { summary: 'A contact', value: CONTACT_EXAMPLE } },
      responses: {
        201: {
          description: 'The contact.',
          body: Contact,
          headers: { Location: { description: 'URL of the contact.', schema: Type.String() } },
        },
      },
      location: ({ email }: { email: string }) =>
        `${API_PREFIX}/contacts/${encodeURIComponent(email)}`,
      problems: ['conflict', 'quota_exceeded'],
    },
    async ({ caller, body }) => {
      const contact = await deps.contacts.create(caller, body as Record<string, unknown>);
      return { status: 201, body: publicContact(caller, contact) };
    },
  );
}
