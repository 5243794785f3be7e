import { Type } from 'typebox';
import type { Contacts } from '../../../contacts/contacts.ts';
import type { Erasures } from '../../../privacy/erase-address.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { parseContactPath } from './contact-path.ts';
import { ContactPath, Erasure } from './schemas.ts';

export function deleteContact(deps: { contacts: Contacts; erasures: Erasures }): Operation {
  return operation(
    {
      id: 'deleteContact',
      method: 'DELETE',
      path: '/contacts/{email}',
      tag: 'Contacts',
      summary: 'Delete a contact or erase an address',
      description:
        'Deletes the contact. With `erase=true`, the address is erased everywhere, whether or ' +
        'not it has a contact: in messages sent to it, their content, attempts and events, and ' +
        'in the test inbox; inbound messages from it or to it are deleted. Pending messages to it are cancelled. Counts and statistics are ' +
        'kept. Responses stored for idempotent retries (Idempotency-Key) are deleted ' +
        'automatically within 24 hours.',
      scope: 'write:contacts',
      params: ContactPath,
      query: closed({
        erase: Type.Optional(
          Type.Boolean({ default: false, description: 'Erase all data about the address.' }),
        ),
        keep_suppression: Type.Optional(
          Type.Boolean({
            default: false,
            description:
              'With `erase`: never send to the address again. Only a keyed hash of it is kept.',
          }),
        ),
      }),
      responses: {
        200: {
          description: 'The address was erased.',
          body: Erasure,
          example: { status: 'finished', contacts: 1, messages: 12, attempts: 13, events: 38 },
        },
        202: {
          description: 'The address is being erased. Repeat the request to check progress.',
          body: Erasure,
          example: { status: 'running', contacts: 1, messages: 500, attempts: 0, events: 0 },
        },
        204: { description: 'The contact was deleted.' },
      },
      problems: ['not_found'],
    },
    async ({ caller, params, query }) => {
      const pointer = parseContactPath(params);
      if (!query.erase) {
        await deps.contacts.remove(caller, pointer);
        return { status: 204 };
      }
      const emailKey =
        'mailbox' in pointer
          ? pointer.mailbox.key
          : (await deps.contacts.get(caller, pointer)).emailKey;
      const keepSuppression = query.keep_suppression ?? false;
      return answerOf(await deps.erasures.erase(caller, emailKey, { keepSuppression }));
    },
  );
}

function answerOf({ finished, ...counts }: Awaited<ReturnType<Erasures['erase']>>) {
  return finished
    ? { status: 200, body: { status: 'finished', ...counts } }
    : { status: 202, body: { status: 'running', ...counts } };
}
