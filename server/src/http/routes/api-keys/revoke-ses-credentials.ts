import { Type } from 'typebox';
import type { SesCredentials } from '../../../accounts/ses-credentials.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';

export function revokeSesCredentials(deps: { sesCredentials: SesCredentials }): Operation {
  return operation(
    {
      id: 'revokeSesCredentials',
      method: 'DELETE',
      path: '/api-keys/{id}/ses-credentials/{access_key_id}',
      tag: 'API keys',
      summary: 'Revoke SES credentials',
      description:
        'Permanent; takes effect on every node within a second. The API key itself keeps working.',
      scope: 'write:api_keys',
      params: Type.Object({
        id: Type.String({
          description: 'The id of the key.',
          examples: ['key_01kc8x3f7ye6qvj2m4n5p6q7r8'],
        }),
        access_key_id: Type.String({
          description: 'The access key ID of the credentials.',
          examples: ['PRLIVE2M4N5P6Q7R7XYZ'],
        }),
      }),
      responses: { 204: { description: 'Revoked.' } },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const { id, access_key_id: accessKeyId } = params as { id: string; access_key_id: string };
      await deps.sesCredentials.revoke(caller, decodePathId('key', id, 'API key'), accessKeyId);
      return { status: 204 };
    },
  );
}
