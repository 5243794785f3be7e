import { publicSesCredential, type SesCredentials } from '../../../accounts/ses-credentials.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { SesCredentialWithSecret } from './schemas.ts';

export function createSesCredentials(deps: { sesCredentials: SesCredentials }): Operation {
  return operation(
    {
      id: 'createSesCredentials',
      method: 'POST',
      path: '/api-keys/{id}/ses-credentials',
      tag: 'API keys',
      summary: 'Create SES credentials',
      description:
        'An access key ID and a secret access key for programs that use the API of Amazon SES ' +
        '(`/compat/ses`). They have the mode, scopes, limits and expiry of the key, and are ' +
        'revoked with it. A key can have two at a time. The secret is only ever returned in this ' +
        'response.',
      scope: 'write:api_keys',
      params: pathId('key', 'the key'),
      responses: {
        201: { description: 'The credentials.', body: SesCredentialWithSecret },
      },
      problems: ['not_found', 'conflict', 'wrong_mode'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('key', (params as { id: string }).id, 'API key');
      const { credential, secret } = await deps.sesCredentials.create(caller, id);
      const body = { ...publicSesCredential(credential), secret_access_key: secret };
      return { status: 201, body };
    },
  );
}
