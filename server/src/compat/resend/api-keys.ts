import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { Deleted, deleted, ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/api-keys */

const KEYS = { list: '/api-keys', prefix: 'key' } as const;

export function apiKeyOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendCreateApiKey',
        method: 'POST',
        path: '/api-keys',
        tag: 'API keys',
        summary: 'Create an API key',
        description:
          'The key has the mode of the calling key. `full_access` means its scopes, and `sending_access` only sends.',
        scope: 'write:api_keys',
        body: closed({
          name: Type.String(),
          permission: Type.Optional(
            Type.Union([Type.Literal('full_access'), Type.Literal('sending_access')]),
          ),
          domain_id: Type.Optional(
            Type.String({ description: 'Restricts the key to senders of this domain.' }),
          ),
        }),
        responses: {
          201: {
            description: 'The key and its secret.',
            body: Type.Object({ id: Type.String(), token: Type.String() }),
          },
        },
      },
      async (request) => {
        const { name, permission, domain_id: id } = request.body;
        const domain =
          id === undefined ? undefined : await call(request, 'getDomain', { params: { id } });
        const body = {
          name,
          mode: request.caller.mode,
          ...(permission === 'sending_access' ? { scopes: ['send:transactional'] } : {}),
          ...(domain ? { allowed_domains: [domain.body.name] } : {}),
        };
        const { body: key } = await call(request, 'createApiKey', { body });
        return { status: 201, body: { id: key.id, token: key.token } };
      },
    ),
    operation(
      {
        id: 'resendListApiKeys',
        method: 'GET',
        path: '/api-keys',
        tag: 'API keys',
        summary: 'List API keys',
        description: 'Without revoked keys, so a page may have fewer than `limit`.',
        scope: 'read:api_keys',
        query: ListQuery,
        responses: { 200: { description: 'The keys, newest first.', body: Type.Object({}) } },
      },
      async (request) => {
        const query = pageQuery(request.query, KEYS);
        const { body } = await call(request, 'listApiKeys', { query });
        const data = (body.data as ApiKey[]).filter((key) => key.revoked_at === null);
        return { status: 200, body: toPage({ ...body, data }, toApiKey) };
      },
    ),
    operation(
      {
        id: 'resendUpdateApiKey',
        method: 'PATCH',
        path: '/api-keys/{id}',
        tag: 'API keys',
        summary: 'Rename an API key',
        scope: 'write:api_keys',
        params: Type.Object({ id: Type.String() }),
        body: closed({ name: Type.String() }),
        responses: {
          200: {
            description: 'Renamed.',
            body: Type.Object({ object: Type.Literal('api_key'), id: Type.String() }),
          },
        },
      },
      async (request) => {
        const { params, body } = request;
        await call(request, 'updateApiKey', { params, body });
        return { status: 200, body: { object: 'api_key', id: params.id } };
      },
    ),
    operation(
      {
        id: 'resendDeleteApiKey',
        method: 'DELETE',
        path: '/api-keys/{id}',
        tag: 'API keys',
        summary: 'Revoke an API key',
        scope: 'write:api_keys',
        params: Type.Object({ id: Type.String() }),
        responses: { 200: { description: 'Revoked.', body: Deleted } },
      },
      async (request) => {
        const { params } = request;
        await call(request, 'revokeApiKey', { params });
        return { status: 200, body: deleted('api_key', params.id) };
      },
    ),
  ];
}

interface ApiKey {
  id: string;
  name: string;
  created_at: string;
  last_used_at: string | null;
  revoked_at: string | null;
}

function toApiKey({ id, name, created_at, last_used_at }: ApiKey): object {
  return { id, name, created_at, last_used_at };
}
