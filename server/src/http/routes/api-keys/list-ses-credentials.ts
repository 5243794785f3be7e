import { publicSesCredential, type SesCredentials } from '../../../accounts/ses-credentials.ts';
import { pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { SesCredentialList } from './schemas.ts';

export function listSesCredentials(deps: { sesCredentials: SesCredentials }): Operation {
  return operation(
    {
      id: 'listSesCredentials',
      method: 'GET',
      path: '/api-keys/{id}/ses-credentials',
      tag: 'API keys',
      summary: 'List the SES credentials of an API key',
      scope: 'read:api_keys',
      params: pathId('key', 'the key'),
      responses: {
        200: { description: 'All credentials, without their secrets.', body: SesCredentialList },
      },
      problems: ['not_found'],
    },
    async ({ caller, params }) => {
      const id = decodePathId('key', (params as { id: string }).id, 'API key');
      const credentials = await deps.sesCredentials.list(caller, id);
      return { status: 200, body: { data: credentials.map(publicSesCredential) } };
    },
  );
}
