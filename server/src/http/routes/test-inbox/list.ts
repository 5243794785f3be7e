import { Type } from 'typebox';
import type { TestInbox } from '../../../messages/test-inbox/test-inbox.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { parseAddressParameter } from '../../validation/query-parameters.ts';
import { InboxSummary } from './schemas.ts';

const LIST = '/test/inbox';

export function listTestInbox(deps: { inbox: TestInbox }): Operation {
  return operation(
    {
      id: 'listTestInbox',
      method: 'GET',
      path: '/test/inbox',
      tag: 'Test inbox',
      summary: 'List test messages',
      scope: 'read:messages',
      mode: 'test',
      query: closed({
        ...PAGE,
        to: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description: 'Only messages to this recipient.',
          }),
        ),
      }),
      queryParsers: [
        (query) => uuidCursor(LIST, query),
        (query) => parseAddressParameter('recipientKey', 'to', query),
      ],
      responses: {
        200: {
          description: 'A page of test messages, newest first.',
          body: page(InboxSummary, 'InboxPage'),
        },
      },
    },
    async ({ caller, query }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const beforeId = uuidCursor(LIST, query);
      const recipient = parseAddressParameter('recipientKey', 'to', query);
      const wanted = { beforeId, limit: limit + 1, ...recipient };
      const found = await deps.inbox.list(caller.workspaceId, wanted);
      const { rows, next_cursor } = toPage(LIST, found, limit, (mail) => [mail.uuid]);
      return {
        status: 200,
        body: { data: rows.map(({ uuid: _uuid, ...mail }) => mail), next_cursor },
      };
    },
  );
}
