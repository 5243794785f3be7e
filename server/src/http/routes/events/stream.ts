import { Type } from 'typebox';
import { requireAuditScope } from '../../../accounts/audit-scope.ts';
import type { People } from '../../../accounts/people/people.ts';
import type { SignedInPerson } from '../../../accounts/people/sessions.ts';
import { type Right, rightsOf } from '../../../accounts/roles.ts';
import type { EventStreams } from '../../../events/event-streams.ts';
import { isAuditType } from '../../../events/event-types.ts';
import type { FeedFilter } from '../../../events/feed-store.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { BOUNCED_EVENT } from '../messages/examples.ts';
import { EventTypeFilter, LATEST, parseEventCursor, parseEventTypes } from './event-query.ts';

export function streamEvents(deps: { eventStreams: EventStreams; people: People }): Operation {
  return operation(
    {
      id: 'streamEvents',
      method: 'GET',
      path: '/events/stream',
      tag: 'Events',
      summary: 'Stream events',
      description:
        'Server-sent events: `id` is a cursor of the event list, `data` is an event. Starts ' +
        'now, or after `Last-Event-ID` (or `cursor`) without a gap. A comment is sent every 15 ' +
        'seconds. The server ends streams occasionally, and immediately if the client reads ' +
        'too slowly. Reconnect with the last id, as browsers do automatically.',
      scope: 'read:events',
      query: closed({
        type: EventTypeFilter,
        cursor: Type.Optional(
          Type.String({
            maxLength: 512,
            description:
              'Where to start if no Last-Event-ID is sent: a `next_cursor` of `order=asc`, a ' +
              '`follow_cursor`, or `latest` (the default).',
          }),
        ),
      }),
      responses: {
        200: {
          description: 'A stream of events.',
          mediaType: 'text/event-stream',
          body: Type.String(),
          example: `id: WzE4NDQyLCIwMTkzIl0\ndata: ${JSON.stringify(BOUNCED_EVENT)}\n\n`,
        },
      },
      problems: ['overloaded'],
    },
    async ({ caller, signedIn, query, lastEventId, signal }) => {
      const cursor = lastEventId || query.cursor;
      const filter: FeedFilter =
        query.type === undefined ? {} : { types: parseEventTypes(query.type) };
      requireAuditScope(caller, filter.types);
      const from = cursor === undefined || cursor === LATEST ? undefined : parseEventCursor(cursor);
      const body = await deps.eventStreams.open(caller, from, filter);
      signal.addEventListener('abort', () => body.destroy(), { once: true });
      if (signal.aborted) body.destroy();
      if (signedIn) {
        const isAudit = filter.types?.some(isAuditType) ?? false;
        const right = isAudit ? 'read:audit_log' : 'read:events';
        await admitAgain(deps.people, caller.workspaceId, signedIn, right).catch((error) => {
          body.destroy();
          throw error;
        });
      }
      return {
        status: 200,
        body,
        mediaType: 'text/event-stream; charset=utf-8',
        // The connection closes with the stream, so that a shutdown need not wait for it.
        headers: { 'cache-control': 'no-store', 'x-accel-buffering': 'no', connection: 'close' },
      };
    },
  );
}

/**
 * A session that ended between authorization and the start of the stream was announced too early
 * for the stream to notice.
 */
async function admitAgain(
  people: People,
  workspaceId: string,
  signedIn: SignedInPerson,
  right: Right,
): Promise<void> {
  const role = await people.sessions.roleIn(workspaceId, signedIn);
  if (role !== undefined && rightsOf(role).has(right)) return;
  throw new RefusedError('invalid_session', 'The session has ended. Sign in again.');
}
