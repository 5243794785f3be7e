import type { NewSuppression } from '../../../suppressions/suppression-fields.ts';
import { publicSuppression, type Suppressions } from '../../../suppressions/suppressions.ts';
import { type Operation, operation } from '../../operation.ts';
import { CreateSuppression, Suppression } from './schemas.ts';

export function createSuppression(deps: { suppressions: Suppressions }): Operation {
  return operation(
    {
      id: 'createSuppression',
      method: 'POST',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'Suppress an address or a domain',
      description:
        'Nothing is sent to it any more, in the mode of the key; what is scheduled for it ends as ' +
        '`suppressed`. One that is on the list already is changed in the fields that are given.',
      scope: 'write:suppressions',
      body: CreateSuppression,
      semanticChecks: (body, faulty) =>
        deps.suppressions.fieldErrors(body, !faulty.has('email') && !faulty.has('domain')),
      examples: {
        address: {
          summary: 'One address',
          value: { email: 'jane@example.com', reason: 'unsubscribe', note: 'Asked by phone' },
        },
        domain: { summary: 'A whole domain', value: { domain: 'example.net' } },
      },
      responses: {
        200: { description: 'It was on the list already.', body: Suppression },
        201: { description: 'It is on the list now.', body: Suppression },
      },
    },
    async ({ caller, body }) => {
      const { suppression, created } = await deps.suppressions.add(caller, body as NewSuppression);
      return { status: created ? 201 : 200, body: publicSuppression(suppression) };
    },
  );
}
