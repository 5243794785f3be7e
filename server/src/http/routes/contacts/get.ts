import { type Contacts, publicContact } from '../../../contacts/contacts.ts';
import { type Operation, operation } from '../../operation.ts';
import { parseContactPath } from './contact-path.ts';
import { Contact, ContactPath } from './schemas.ts';

export function getContact(deps: { contacts: Contacts }): Operation {
  return operation(
    {
      id: 'getContact',
      method: 'GET',
      path: '/contacts/{email}',
      tag: 'Contacts',
      summary: 'Retrieve a contact',
      description: 'By address (case-insensitive) or by id.',
      scope: 'read:contacts',
      params: ContactPath,
      responses: { 200: { description: 'The contact.', body: Contact } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const contact = await deps.contacts.get(caller, parseContactPath(params));
      return { status: 200, body: publicContact(caller, contact) };
    },
  );
}
