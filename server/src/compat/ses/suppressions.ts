import { Type } from 'typebox';
import { closed, oneOf } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { defaultStream } from '../default-stream.ts';
import { nextToken, PAGE_QUERY, pageQuery, toSeconds } from './pages.ts';

/** https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SuppressedDestination.html */

const Reason = oneOf(['BOUNCE', 'COMPLAINT'] as const);
const PathAddress = Type.Object({ address: Type.String({ description: 'The email address.' }) });
const Entry = Type.Object(
  { EmailAddress: Type.String(), Reason: Type.String(), LastUpdateTime: Type.Number() },
  { title: 'SesSuppressedDestination' },
);
const Empty = Type.Object({});

const ADDRESSES = '/v2/email/suppression/addresses';

export function suppressionOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'sesPutSuppressedDestination',
        method: 'PUT',
        path: ADDRESSES,
        tag: 'Suppressions',
        summary: 'Suppress an address',
        scope: 'write:suppressions',
        body: closed({ EmailAddress: Type.String(), Reason }),
        responses: { 200: { description: 'It is suppressed.', body: Empty } },
      },
      async (request) => {
        const { EmailAddress: email, Reason: reason } = request.body;
        const body = { email, reason: reason === 'COMPLAINT' ? 'complaint' : 'hard_bounce' };
        await call(request, 'createSuppression', { body });
        return { status: 200, body: {} };
      },
    ),
    operation(
      {
        id: 'sesListSuppressedDestinations',
        method: 'GET',
        path: ADDRESSES,
        tag: 'Suppressions',
        summary: 'List suppressed addresses',
        description: 'A page can have fewer entries than requested and still have a NextToken.',
        scope: 'read:suppressions',
        query: closed({
          ...PAGE_QUERY,
          Reason: Type.Optional(Type.Union([Reason, Type.Array(Reason)])),
          StartDate: Type.Optional(Type.String({ format: 'date-time' })),
          EndDate: Type.Optional(Type.String({ format: 'date-time' })),
        }),
        responses: {
          200: {
            description: 'A page of addresses, newest first.',
            body: Type.Object({
              SuppressedDestinationSummaries: Type.Array(Entry),
              NextToken: Type.Optional(Type.String()),
            }),
          },
        },
      },
      async (request) => {
        const { StartDate, EndDate, Reason: wanted, ...page } = request.query;
        const { body } = await call(request, 'listSuppressions', {
          query: {
            ...pageQuery(page),
            stream: defaultStream(request),
            ...(StartDate === undefined ? {} : { created_after: StartDate }),
            ...(EndDate === undefined ? {} : { created_before: EndDate }),
          },
        });
        const reasons: readonly string[] | undefined =
          wanted === undefined ? wanted : [wanted].flat();
        const entries = (body.data as Suppression[])
          .flatMap((one) => (one.email === null ? [] : [toEntry(one, one.email)]))
          .filter((one) => reasons?.includes(one.Reason) ?? true);
        return {
          status: 200,
          body: { SuppressedDestinationSummaries: entries, ...nextToken(body) },
        };
      },
    ),
    operation(
      {
        id: 'sesGetSuppressedDestination',
        method: 'GET',
        path: `${ADDRESSES}/{address}`,
        tag: 'Suppressions',
        summary: 'Retrieve why an address is suppressed',
        scope: 'read:suppressions',
        params: PathAddress,
        responses: {
          200: { description: 'The entry.', body: Type.Object({ SuppressedDestination: Entry }) },
        },
      },
      async (request) => {
        const email = request.params.address;
        const query = { email, stream: defaultStream(request) };
        const { body } = await call(request, 'listSuppressions', { query });
        const found = body.data as Suppression[];
        // The address itself before its domain; an erased address is only known by its hash.
        const entry = found.find((one) => one.email !== null) ?? found[0];
        if (!entry) throw new RefusedError('not_found', `${email} is not suppressed.`);
        return { status: 200, body: { SuppressedDestination: toEntry(entry, email) } };
      },
    ),
    operation(
      {
        id: 'sesDeleteSuppressedDestination',
        method: 'DELETE',
        path: `${ADDRESSES}/{address}`,
        tag: 'Suppressions',
        summary: 'Delete the suppression of an address',
        scope: 'write:suppressions',
        params: PathAddress,
        responses: { 200: { description: 'It is no longer suppressed.', body: Empty } },
      },
      async (request) => {
        await call(request, 'deleteSuppressionByEmail', {
          query: { email: request.params.address, stream: defaultStream(request) },
        });
        return { status: 200, body: {} };
      },
    ),
  ];
}

interface Suppression {
  email: string | null;
  reason: string;
  created_at: string;
}

/** SES has two reasons. What a person decided is shown as a complaint, everything else as a bounce. */
const REASONS: Record<string, string> = { complaint: 'COMPLAINT', unsubscribe: 'COMPLAINT' };

function toEntry({ reason, created_at: createdAt }: Suppression, email: string) {
  return {
    EmailAddress: email,
    Reason: REASONS[reason] ?? 'BOUNCE',
    LastUpdateTime: toSeconds(createdAt),
  };
}
