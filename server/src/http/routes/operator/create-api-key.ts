import {
  type ApiKeys,
  type NewApiKey,
  operatorIssuer,
  publicApiKey,
} from '../../../accounts/api-keys.ts';
import type { Workspaces } from '../../../accounts/workspaces.ts';
import type { Streams } from '../../../streams/streams.ts';
import { type Operation, operation } from '../../operation.ts';
import { checkRestrictions } from '../api-keys/check-restrictions.ts';
import { ApiKeyWithToken, CreateApiKey } from '../api-keys/schemas.ts';
import { WORKSPACE_PATH, workspaceInPath } from './schemas.ts';

export function createOperatorApiKey(deps: {
  workspaces: Workspaces;
  apiKeys: ApiKeys;
  streams: Streams;
}): Operation {
  return operation(
    {
      id: 'createOperatorApiKey',
      method: 'POST',
      path: '/operator/workspaces/{id}/api-keys',
      tag: 'Operator',
      summary: 'Create an API key of a workspace',
      description:
        'For the first key of a new workspace, which can create others if it has `write:api_keys`. ' +
        'The mode defaults to `live`, and the scopes to all that a key of this mode can have. The ' +
        'secret is only ever returned in this response.',
      scope: 'operator',
      params: WORKSPACE_PATH,
      body: CreateApiKey,
      semanticChecks: (body) => deps.apiKeys.fieldErrors(body),
      examples: {
        sender: {
          summary: 'A send-only key',
          value: { name: 'First key', mode: 'live', scopes: ['send:transactional'] },
        },
      },
      responses: { 201: { description: 'The key and its secret.', body: ApiKeyWithToken } },
      problems: ['not_found'],
    },
    async ({ operator, params, body }) => {
      const { id } = await workspaceInPath(deps.workspaces, params);
      await checkRestrictions(deps, id, body as NewApiKey);
      const issuer = operatorIssuer(id, operator.actor);
      const { key, token } = await deps.apiKeys.create(issuer, body as NewApiKey);
      return { status: 201, body: { ...publicApiKey(key), token } };
    },
  );
}
