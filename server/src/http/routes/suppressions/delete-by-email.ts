import { Type } from 'typebox';
import { RefusedError } from '../../../lib/refused-error.ts';
import type { Suppressions } from '../../../suppressions/suppressions.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';

export function deleteSuppressionByEmail(deps: { suppressions: Suppressions }): Operation {
  return operation(
    {
      id: 'deleteSuppressionByEmail',
      method: 'DELETE',
      path: '/suppressions',
      tag: 'Suppressions',
      summary: 'Delete the suppression of an address',
      description:
        'Deletes the suppression of the address itself; a suppression of its whole domain stays.',
      scope: 'write:suppressions',
      query: closed({
        email: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 320,
            description: 'The address (required).',
            examples: ['jane@example.com'],
          }),
        ),
      }),
      responses: { 204: { description: 'The suppression was deleted.' } },
      problems: ['not_found'],
    },
    async ({ caller, query }) => {
      if (query.email === undefined) throw missing();
      await deps.suppressions.removeByEmail(caller, query.email);
      return { status: 204 };
    },
  );
}

function missing(): RefusedError {
  const detail = 'Required: the address whose suppression to delete.';
  return new RefusedError('validation_failed', `email: ${detail}`, {
    errors: [{ parameter: 'email', code: 'required', detail }],
  });
}
