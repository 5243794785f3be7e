import { Type } from 'typebox';
import type { People } from '../../../accounts/people/people.ts';
import { limitOf } from '../../../accounts/people/session-store.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { SessionCookie } from '../../server/session-cookie.ts';

export function endSessions({
  people,
  cookie,
}: {
  people: People;
  cookie: SessionCookie;
}): Operation {
  return operation(
    {
      id: 'endSessions',
      method: 'DELETE',
      path: '/me/sessions',
      tag: 'Account',
      summary: 'End all sessions',
      scope: 'person',
      limitedSessions: true,
      query: closed({
        keep_current: Type.Optional(
          Type.Boolean({ default: false, description: 'Keep the current session.' }),
        ),
      }),
      responses: { 204: { description: 'The sessions have ended.' } },
    },
    async ({ signedIn: { person, session }, query }) => {
      const exceptId = query.keep_current ? session.id : null;
      await people.sessions.endAll(person, { exceptId, limitedTo: limitOf(session) });
      if (query.keep_current) return { status: 204 };
      return { status: 204, headers: { 'set-cookie': cookie.clear() } };
    },
  );
}
