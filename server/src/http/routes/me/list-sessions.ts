import { publicSession } from '../../../accounts/people/account.ts';
import type { People } from '../../../accounts/people/people.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { Session } from './schemas.ts';

const LIST = '/me/sessions';

export function listSessions({ people }: { people: People }): Operation {
  return operation(
    {
      id: 'listSessions',
      method: 'GET',
      path: '/me/sessions',
      tag: 'Account',
      summary: 'List your sessions',
      description: 'Active sessions, newest first.',
      scope: 'person',
      limitedSessions: true,
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of sessions.', body: page(Session, 'SessionPage') },
      },
    },
    async ({ signedIn, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await people.sessions.list(signedIn, {
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, (session) => [session.id]);
      const data = rows.map((session) => publicSession(session, signedIn.session.id));
      return { status: 200, body: { data, next_cursor } };
    },
  );
}
