import { contactFieldErrors } from '../../../contacts/contact-fields.ts';
import { type Contacts, publicContact } from '../../../contacts/contacts.ts';
import { type Operation, operation } from '../../operation.ts';
import { contactPointer } from './contact-path.ts';
import { Contact, ContactPath, UpdateContact } from './schemas.ts';

export function updateContact(deps: { contacts: Contacts }): Operation {
  return operation(
    {
      id: 'updateContact',
      method: 'PATCH',
      path: '/contacts/{email}',
      tag: 'Contacts',
      summary: 'Change a contact',
      description: 'Only the fields that are given; attributes are merged name by name.',
      scope: 'write:contacts',
      params: ContactPath,
      body: UpdateContact,
      moreFaults: contactFieldErrors,
      examples: {
        name: {
          summary: 'Another name',
          value: { first_name: 'Jane', attributes: { plan: 'pro' } },
        },
      },
      answers: { 200: { description: 'The contact as it is now.', body: Contact } },
      refusals: ['not_found', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const change = body as Record<string, unknown>;
      const contact = await deps.contacts.update(caller, contactPointer(params), change);
      return { status: 200, body: publicContact(caller, contact) };
    },
  );
}
