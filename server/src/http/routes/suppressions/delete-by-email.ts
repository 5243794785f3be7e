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
      summary: 'Delete the suppressions of an address',
      description:
        'Deletes the suppressions of the address, for all mail and in every stream; with `stream`, ' +
        'only those that stop mail in this stream. A suppression of its whole domain stays.',
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
        stream: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 64,
            description:
              'Only suppressions that stop mail in this stream: the one that is limited to it, and ' +
              'the one that applies to all mail.',
          }),
        ),
      }),
      responses: { 204: { description: 'The suppressions were deleted.' } },
      problems: ['not_found'],
    },
    async ({ caller, query }) => {
      if (query.email === undefined) throw missing();
      await deps.suppressions.removeByEmail(caller, query.email, query.stream);
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
