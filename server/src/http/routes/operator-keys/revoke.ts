import { type OperatorKeys, publicOperatorKey } from '../../../accounts/operator-keys.ts';
import { requireInstanceOwner } from '../../../accounts/people/instance-owners.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { OperatorKey } from './schemas.ts';

export function revokeOperatorKey(deps: { operatorKeys: OperatorKeys }): Operation {
  return operation(
    {
      id: 'revokeOperatorKey',
      method: 'DELETE',
      path: '/operator-keys/{id}',
      tag: 'Operator',
      summary: 'Revoke an operator key',
      description:
        'Takes effect with the next request on every node, and cannot be undone. Requires a ' +
        'signed-in instance owner.',
      scope: 'person',
      auditedIn: 'server',
      params: pathId('opk', 'the key'),
      responses: { 200: { description: 'The revoked key.', body: OperatorKey } },
      problems: ['not_found', 'insufficient_role'],
    },
    async ({ signedIn, params }) => {
      requireInstanceOwner(signedIn);
      const id = decodePathId('opk', (params as { id: string }).id, 'operator key');
      return { status: 200, body: publicOperatorKey(await deps.operatorKeys.revoke(id)) };
    },
  );
}
