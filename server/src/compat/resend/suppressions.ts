import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { defaultStream } from '../default-stream.ts';
import { Deleted, deleted, ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/suppressions */

const SuppressionPath = Type.Object({
  id: Type.String({ description: 'The id or the address of the suppression.' }),
});

const Added = Type.Object({ object: Type.Literal('suppression'), id: Type.String() });

const SUPPRESSIONS = { list: '/suppressions', prefix: 'sup', keyed: true } as const;

const REASONS = { bounce: 'hard_bounce', complaint: 'complaint', manual: 'manual' } as const;

export function suppressionOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendAddSuppression',
        method: 'POST',
        path: '/suppressions',
        tag: 'Suppressions',
        summary: 'Add a suppression',
        scope: 'write:suppressions',
        body: closed({ email: Type.String() }),
        responses: { 200: { description: 'Suppressed.', body: Added } },
      },
      async (request) => {
        const { body } = await call(request, 'createSuppression', { body: request.body });
        return { status: 200, body: { object: 'suppression', id: body.id } };
      },
    ),
    operation(
      {
        id: 'resendListSuppressions',
        method: 'GET',
        path: '/suppressions',
        tag: 'Suppressions',
        summary: 'List suppressions',
        description: 'Addresses only; suppressed domains are in the list of our own API.',
        scope: 'read:suppressions',
        query: closed({
          ...ListQuery.properties,
          origin: Type.Optional(
            Type.Union([Type.Literal('bounce'), Type.Literal('complaint'), Type.Literal('manual')]),
          ),
        }),
        responses: { 200: { description: 'The suppressions.', body: Type.Object({}) } },
      },
      async (request) => {
        const { origin, ...page } = request.query;
        const query = {
          ...pageQuery(page, SUPPRESSIONS),
          stream: defaultStream(request),
          ...(origin === undefined ? {} : { reason: REASONS[origin] }),
        };
        const { body } = await call(request, 'listSuppressions', { query });
        const data = (body.data as Suppression[]).filter(({ email }) => email !== null);
        return { status: 200, body: toPage({ ...body, data }, toSuppression) };
      },
    ),
    operation(
      {
        id: 'resendGetSuppression',
        method: 'GET',
        path: '/suppressions/{id}',
        tag: 'Suppressions',
        summary: 'Retrieve a suppression',
        scope: 'read:suppressions',
        params: SuppressionPath,
        responses: { 200: { description: 'The suppression.', body: Type.Object({}) } },
      },
      async (request) => {
        const found = await find(call, request, request.params.id);
        return { status: 200, body: { object: 'suppression', ...toSuppression(found) } };
      },
    ),
    operation(
      {
        id: 'resendRemoveSuppression',
        method: 'DELETE',
        path: '/suppressions/{id}',
        tag: 'Suppressions',
        summary: 'Remove a suppression',
        scope: 'write:suppressions',
        params: SuppressionPath,
        responses: { 200: { description: 'Removed.', body: Deleted } },
      },
      async (request) => {
        const { id } = request.params;
        if (id.includes('@')) {
          await call(request, 'deleteSuppressionByEmail', {
            query: { email: id, stream: defaultStream(request) },
          });
        } else await call(request, 'deleteSuppression', { params: { id } });
        return { status: 200, body: deleted('suppression', id) };
      },
    ),
  ];
}

async function find(
  call: CompatDependencies['call'],
  request: AnyRequest,
  id: string,
): Promise<Suppression> {
  if (!id.includes('@')) return (await call(request, 'getSuppression', { params: { id } })).body;
  const query = { email: id, stream: defaultStream(request) };
  const { body } = await call(request, 'listSuppressions', { query });
  const own = (body.data as Suppression[]).find(({ email }) => email !== null);
  if (own) return own;
  throw new RefusedError('not_found', 'The address is not suppressed.');
}

interface Suppression {
  id: string;
  email: string | null;
  reason: string;
  created_at: string;
  evidence: { message_id: string } | null;
}

const ORIGINS: Record<string, string> = { hard_bounce: 'bounce', complaint: 'complaint' };

function toSuppression({ id, email, reason, created_at, evidence }: Suppression) {
  return {
    id,
    email,
    origin: ORIGINS[reason] ?? 'manual',
    source_id: evidence?.message_id ?? null,
    created_at,
  };
}
