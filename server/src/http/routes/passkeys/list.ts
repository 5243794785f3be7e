import { publicPasskey } from '../../../accounts/people/passkeys/passkeys.ts';
import type { People } from '../../../accounts/people/people.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Passkey } from './schemas.ts';

const LIST = '/me/passkeys';

export function listPasskeys({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'listPasskeys',
      method: 'GET',
      path: '/me/passkeys',
      tag: 'Account',
      summary: 'List your passkeys',
      description: 'Newest first.',
      scope: 'person',
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of passkeys.', body: page(Passkey, 'PasskeyPage') },
      },
    },
    async ({ signedIn, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await people.passkeys.list(signedIn, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (passkey) => [passkey.id]);
      return { status: 200, body: { data: rows.map(publicPasskey), next_cursor } };
    },
  );
}
