import { publicSuppression } from '../../../suppressions/suppression-entry.ts';
import type { NewSuppression } from '../../../suppressions/suppression-fields.ts';
import type { Suppressions } from '../../../suppressions/suppressions.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { Suppression, UpdateSuppression } from './schemas.ts';

export function updateSuppression(deps: { suppressions: Suppressions }): Operation {
  return operation(
    {
      id: 'updateSuppression',
      method: 'PATCH',
      path: '/suppressions/{id}',
      tag: 'Suppressions',
      summary: 'Update a suppression',
      description: 'Changes the reason, note or expiry, but not the address, domain or stream.',
      scope: 'write:suppressions',
      params: pathId('sup', 'the suppression'),
      body: UpdateSuppression,
      semanticChecks: (body) => deps.suppressions.fieldErrors(body, false),
      examples: { note: { summary: 'A note', value: { note: 'Requested by phone.' } } },
      responses: { 200: { description: 'The updated suppression.', body: Suppression } },
      problems: ['not_found'],
    },
    async ({ caller, params, body }) => {
      const id = decodePathId('sup', (params as { id: string }).id, 'suppression');
      const suppression = await deps.suppressions.change(caller, id, body as NewSuppression);
      return { status: 200, body: publicSuppression(suppression) };
    },
  );
}
