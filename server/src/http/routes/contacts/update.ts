import { contactFieldErrors } from '../../../contacts/contact-fields.ts';
import { type Contacts, publicContact } from '../../../contacts/contacts.ts';
import { type Operation, operation } from '../../operation.ts';
import { parseContactPath } from './contact-path.ts';
import { Contact, ContactPath, UpdateContact } from './schemas.ts';

export function updateContact(deps: { contacts: Contacts }): Operation {
  return operation(
    {
      id: 'updateContact',
      method: 'PATCH',
      path: '/contacts/{email}',
      tag: 'Contacts',
      summary: 'Update a contact',
      description: 'Changes only the given fields. Attributes are merged by name.',
      scope: 'write:contacts',
      params: ContactPath,
      body: UpdateContact,
      semanticChecks: contactFieldErrors,
      examples: {
        name: {
          summary: 'Change the name',
          value: { first_name: 'Jane', attributes: { plan: 'pro' } },
        },
      },
      responses: { 200: { description: 'The updated contact.', body: Contact } },
      problems: ['not_found', 'conflict'],
    },
    async ({ caller, params, body }) => {
      const change = body as Record<string, unknown>;
      const contact = await deps.contacts.update(caller, parseContactPath(params), change);
      return { status: 200, body: publicContact(caller, contact) };
    },
  );
}
