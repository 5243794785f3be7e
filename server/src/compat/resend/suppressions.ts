import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { defaultStream } from '../default-stream.ts';
import { Deleted, deleted, ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/suppressions */

const SuppressionPath = Type.Object({
  id: Type.String({ description: 'The id or the address of the suppression.' }),
});

const Emails = Type.Array(Type.String(), { minItems: 1, maxItems: 100 });

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
        id: 'resendAddSuppressions',
        method: 'POST',
        path: '/suppressions/batch/add',
        tag: 'Suppressions',
        summary: 'Add several suppressions',
        description: 'If an address is not valid, nothing is added.',
        scope: 'write:suppressions',
        body: closed({ emails: Emails }),
        responses: { 200: { description: 'Suppressed.', body: Type.Object({}) } },
      },
      async (request) => {
        const { emails } = request.body;
        checkAddresses(emails);
        const body = { suppressions: emails.map((email) => ({ email })) };
        const { body: added } = await call(request, 'createSuppressionsBulk', { body });
        const data = (added.data as { suppression: Suppression }[]).map(({ suppression }) => ({
          object: 'suppression',
          id: suppression.id,
        }));
        return { status: 200, body: { data } };
      },
    ),
    operation(
      {
        id: 'resendRemoveSuppressions',
        method: 'POST',
        path: '/suppressions/batch/remove',
        tag: 'Suppressions',
        summary: 'Remove several suppressions',
        description: 'By `emails` or by `ids`. Those that are not suppressed are left out.',
        scope: 'write:suppressions',
        body: Type.Union([closed({ emails: Emails }), closed({ ids: Emails })]),
        responses: { 200: { description: 'Removed.', body: Type.Object({}) } },
      },
      async (request) => {
        const { body } = request;
        const data: object[] = [];
        for (const id of 'emails' in body ? body.emails : body.ids) {
          if (await removed(call, request, id)) data.push(deleted('suppression', id));
        }
        return { status: 200, body: { data } };
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
        await remove(call, request, id);
        return { status: 200, body: deleted('suppression', id) };
      },
    ),
  ];
}

async function remove(
  call: CompatDependencies['call'],
  request: AnyRequest,
  id: string,
): Promise<void> {
  if (id.includes('@')) {
    const query = { email: id, stream: defaultStream(request) };
    await call(request, 'deleteSuppressionByEmail', { query });
  } else await call(request, 'deleteSuppression', { params: { id } });
}

/** Whether there was something to remove. */
async function removed(...args: Parameters<typeof remove>): Promise<boolean> {
  try {
    await remove(...args);
    return true;
  } catch (error) {
    if (error instanceof RefusedError && error.code === 'not_found') return false;
    throw error;
  }
}

/** Our own list adds those that are valid, and Resend's response has no place for the others. */
function checkAddresses(emails: readonly string[]): void {
  const errors = emails.flatMap((email, index) => {
    const parsed = parseMailbox(email);
    if (parsed.ok) return [];
    return [{ pointer: `/emails/${index}`, code: 'invalid_email', detail: parsed.detail }];
  });
  if (errors.length > 0) throw invalidFields(errors);
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
