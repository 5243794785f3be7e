import { type ApiKeys, publicApiKey } from '../../../accounts/api-keys.ts';
import { findWorkspace } from '../../../accounts/workspace-store.ts';
import type { Pool } from '../../../db/connections/pool.ts';
import { encodeId } from '../../../lib/ids.ts';
import { RefusedError } from '../../../lib/refused-error.ts';
import { type Operation, operation } from '../../operation.ts';
import { CurrentApiKey } from './schemas.ts';

export function getCurrentApiKey(deps: { apiKeys: ApiKeys; pool: Pool }): Operation {
  return operation(
    {
      id: 'getCurrentApiKey',
      method: 'GET',
      path: '/api-keys/current',
      tag: 'API keys',
      summary: 'Retrieve the calling API key',
      description: 'The key that makes the request, and its workspace. Requires no scope.',
      scope: 'any',
      responses: {
        200: { description: 'The key, without its secret.', body: CurrentApiKey },
      },
      problems: ['not_found'],
    },
    async ({ caller }) => {
      if (caller.keyId === undefined) {
        throw new RefusedError('not_found', 'The request has a session and no API key.');
      }
      const key = publicApiKey(await deps.apiKeys.get(caller, caller.keyId));
      const found = await findWorkspace(deps.pool, caller.workspaceId);
      const workspace = { id: encodeId('wsp', caller.workspaceId), name: found?.name ?? '' };
      return { status: 200, body: { ...key, workspace } };
    },
  );
}
