import { publicSuppression } from '../../../suppressions/suppression-entry.ts';
import type { Suppressions } from '../../../suppressions/suppressions.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Suppression } from './schemas.ts';

export function getSuppression(deps: { suppressions: Suppressions }): Operation {
  return operation(
    {
      id: 'getSuppression',
      method: 'GET',
      path: '/suppressions/{id}',
      tag: 'Suppressions',
      summary: 'Retrieve a suppression',
      scope: 'read:suppressions',
      params: pathId('sup', 'the suppression'),
      responses: { 200: { description: 'The suppression.', body: Suppression } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('sup', (params as { id: string }).id, 'suppression');
      return { status: 200, body: publicSuppression(await deps.suppressions.get(caller, id)) };
    },
  );
}
