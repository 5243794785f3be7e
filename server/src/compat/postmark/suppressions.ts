import { type Static, Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import { toStreamKey } from '../../webhooks/formats/postmark-stream-id.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { DATES, periodOf } from './list-filter.ts';

/** https://postmarkapp.com/developer/api/suppressions-api */

const Stream = Type.Object({ stream: Type.String() });
const Entries = closed({
  Suppressions: Type.Array(closed({ EmailAddress: Type.String() }), { minItems: 1, maxItems: 50 }),
});
const Statuses = Type.Object(
  {
    Suppressions: Type.Array(
      Type.Object({ EmailAddress: Type.String(), Status: Type.String(), Message: Type.String() }),
    ),
  },
  { title: 'PostmarkSuppressionStatuses' },
);

const Reason = Type.Optional(oneOf(['HardBounce', 'SpamComplaint', 'ManualSuppression'] as const));
const Origin = Type.Optional(oneOf(['Recipient', 'Customer', 'Admin'] as const));
const Email = Type.Optional(Type.String());

/** Its client library writes the names with a small letter. */
const FILTERS = {
  ...DATES,
  EmailAddress: Email,
  emailAddress: Email,
  SuppressionReason: Reason,
  suppressionReason: Reason,
  Origin,
  origin: Origin,
};

/** Bounds one dump; a workspace with more uses the paged list of our own API. */
const DUMP_PAGES_MAX = 100;

export function suppressionOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'postmarkListSuppressions',
        method: 'GET',
        path: '/message-streams/{stream}/suppressions/dump',
        tag: 'Suppressions',
        summary: 'List suppressions',
        scope: 'read:suppressions',
        params: Stream,
        query: closed({
          ...FILTERS,
          // The client library sends both with every list; this one is always complete.
          count: Type.Optional(Type.Integer({ minimum: 0 })),
          offset: Type.Optional(Type.Integer({ minimum: 0, maximum: 0 })),
        }),
        responses: { 200: { description: 'The suppressions.', body: Type.Object({}) } },
      },
      async (request) => {
        const { query } = request;
        const email = query.EmailAddress ?? query.emailAddress;
        const reason = query.SuppressionReason ?? query.suppressionReason;
        const origin = query.Origin ?? query.origin;
        const { after, before } = periodOf(query);
        const found = await allSuppressions(call, request, {
          stream: toStreamKey(request.params.stream),
          ...(email === undefined ? {} : { email }),
          ...(after === undefined ? {} : { created_after: after }),
          ...(before === undefined ? {} : { created_before: before }),
        });
        const Suppressions = found
          .map(toSuppression)
          .filter((one) => (reason ?? one.SuppressionReason) === one.SuppressionReason)
          .filter((one) => (origin ?? one.Origin) === one.Origin);
        return { status: 200, body: { Suppressions } };
      },
    ),
    operation(
      {
        id: 'postmarkCreateSuppressions',
        method: 'POST',
        path: '/message-streams/{stream}/suppressions',
        tag: 'Suppressions',
        summary: 'Create suppressions',
        scope: 'write:suppressions',
        params: Stream,
        body: Entries,
        responses: { 200: { description: 'A status for each address.', body: Statuses } },
      },
      async (request) => {
        const stream = toStreamKey(request.params.stream);
        const suppressions = request.body.Suppressions.map(({ EmailAddress: email }) => ({
          email,
          stream,
        }));
        const { body } = await call(request, 'createSuppressionsBulk', { body: { suppressions } });
        const results = body.data as { error?: { detail: string } }[];
        return { status: 200, body: statuses(request.body, results, 'Suppressed') };
      },
    ),
    operation(
      {
        id: 'postmarkDeleteSuppressions',
        method: 'POST',
        path: '/message-streams/{stream}/suppressions/delete',
        tag: 'Suppressions',
        summary: 'Delete suppressions',
        scope: 'write:suppressions',
        params: Stream,
        body: Entries,
        responses: { 200: { description: 'A status for each address.', body: Statuses } },
      },
      async (request) => {
        const stream = toStreamKey(request.params.stream);
        for (const { EmailAddress: email } of request.body.Suppressions) {
          try {
            await call(request, 'deleteSuppressionByEmail', { query: { email, stream } });
          } catch (error) {
            // An address without a suppression counts as deleted, as at Postmark.
            if (!(error instanceof RefusedError) || error.code !== 'not_found') throw error;
          }
        }
        return { status: 200, body: statuses(request.body, [], 'Deleted') };
      },
    ),
  ];
}

/** The suppressed addresses, newest first, each once. */
export async function allSuppressions(
  call: CompatDependencies['call'],
  request: AnyRequest,
  filter: Record<string, string> = {},
): Promise<(Suppression & { email: string })[]> {
  const found = new Map<string, Suppression & { email: string }>();
  let cursor: string | null = null;
  for (let page = 0; page < DUMP_PAGES_MAX; page++) {
    const query: Record<string, string> = {
      limit: '100',
      ...filter,
      ...(cursor === null ? {} : { cursor }),
    };
    const { body } = await call(request, 'listSuppressions', { query });
    for (const one of body.data as Suppression[]) {
      if (hasAddress(one) && !found.has(one.email)) found.set(one.email, one);
    }
    cursor = body.next_cursor;
    if (cursor === null) break;
  }
  return [...found.values()];
}

interface Suppression {
  email: string | null;
  reason: string;
  created_at: string;
}

function hasAddress(suppression: Suppression): suppression is Suppression & { email: string } {
  return suppression.email !== null;
}

const REASONS: Record<string, string> = {
  hard_bounce: 'HardBounce',
  complaint: 'SpamComplaint',
};

function toSuppression({ email, reason, created_at: createdAt }: Suppression) {
  return {
    EmailAddress: email,
    SuppressionReason: REASONS[reason] ?? 'ManualSuppression',
    Origin: REASONS[reason] ? 'Recipient' : 'Customer',
    CreatedAt: createdAt,
  };
}

function statuses(
  { Suppressions }: Static<typeof Entries>,
  results: readonly { error?: { detail: string } }[],
  success: string,
): object {
  return {
    Suppressions: Suppressions.map(({ EmailAddress }, index) => {
      const error = results[index]?.error;
      return {
        EmailAddress,
        Status: error ? 'Failed' : success,
        Message: error?.detail ?? null,
      };
    }),
  };
}
