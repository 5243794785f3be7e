import { type OperatorKeys, publicOperatorKey } from '../../../accounts/operator-keys.ts';
import { requireInstanceOwner } from '../../../accounts/people/instance-owners.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { toPage, uuidCursor } from '../../validation/cursor.ts';
import { OperatorKey } from './schemas.ts';

const LIST = '/operator-keys';

export function listOperatorKeys(deps: { operatorKeys: OperatorKeys }): Operation {
  return operation(
    {
      id: 'listOperatorKeys',
      method: 'GET',
      path: '/operator-keys',
      tag: 'Operator',
      summary: 'List operator keys',
      description:
        'Newest first, including revoked keys. Requires a signed-in instance owner: an operator key ' +
        'cannot manage operator keys.',
      scope: 'person',
      query: closed(PAGE),
      queryParsers: [(query) => uuidCursor(LIST, query)],
      responses: {
        200: { description: 'A page of keys.', body: page(OperatorKey, 'OperatorKeyPage') },
      },
      problems: ['insufficient_role'],
    },
    async ({ signedIn, query }) => {
      requireInstanceOwner(signedIn);
      const limit = query.limit ?? LIMIT_DEFAULT;
      const before = uuidCursor(LIST, query);
      const found = await deps.operatorKeys.list({
        limit: limit + 1,
        ...(before === undefined ? {} : { before }),
      });
      const { rows, next_cursor } = toPage(LIST, found, limit, ({ id }) => [id]);
      return { status: 200, body: { data: rows.map(publicOperatorKey), next_cursor } };
    },
  );
}
