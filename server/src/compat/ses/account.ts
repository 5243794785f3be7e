import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { nextToken, PAGE_QUERY, pageQuery } from './pages.ts';

/** Look-ups of the account and its identities, which are the sending domains of the workspace. */

const Identities = Type.Object({
  EmailIdentities: Type.Array(
    Type.Object({
      IdentityType: Type.Literal('DOMAIN'),
      IdentityName: Type.String(),
      SendingEnabled: Type.Boolean(),
      VerificationStatus: Type.String(),
    }),
  ),
  NextToken: Type.Optional(Type.String()),
});

export function accountOperations({ call }: CompatDependencies): Operation[] {
  const list = async (request: AnyRequest, page: Parameters<typeof pageQuery>[0]) => {
    const { body } = await call(request, 'listDomains', { query: pageQuery(page) });
    const identities = (body.data as Domain[]).map((domain) => ({
      IdentityType: 'DOMAIN',
      IdentityName: domain.name,
      SendingEnabled: maySend(domain),
      VerificationStatus: STATUSES[domain.status],
    }));
    return { status: 200, body: { EmailIdentities: identities, ...nextToken(body) } };
  };
  const listed = {
    tag: 'Domains',
    summary: 'List identities',
    scope: 'read:domains',
    responses: { 200: { description: 'A page of sending domains.', body: Identities } },
  } as const;
  return [
    operation(
      {
        id: 'sesGetAccount',
        method: 'GET',
        path: '/v2/email/account',
        tag: 'Service',
        summary: 'Retrieve the limits',
        description:
          'The sending rate is that of the workspace. `SentLast24Hours` requires `read:messages`.',
        scope: 'any',
        responses: { 200: { description: 'The account.', body: Type.Object({}) } },
      },
      async (request) => {
        const { body: limits } = await call(request, 'getLimits');
        const { scopes, mode } = request.caller;
        const sent = scopes.has('read:messages') ? await sentLastDay(call, request) : undefined;
        return {
          status: 200,
          body: {
            ProductionAccessEnabled: mode === 'live',
            SendingEnabled: scopes.has('send:transactional'),
            DedicatedIpAutoWarmupEnabled: false,
            SendQuota: {
              // Unlimited.
              Max24HourSend: -1,
              MaxSendRate: limits.requests_per_second,
              ...(sent === undefined ? {} : { SentLast24Hours: sent }),
            },
            SuppressionAttributes: { SuppressedReasons: ['BOUNCE', 'COMPLAINT'] },
          },
        };
      },
    ),
    operation(
      {
        ...listed,
        id: 'sesListEmailIdentities',
        method: 'POST',
        path: '/v2/email/list-identities',
        body: closed(PAGE_QUERY),
      },
      (request) => list(request, request.body),
    ),
    operation(
      {
        ...listed,
        id: 'sesListEmailIdentitiesByQuery',
        method: 'GET',
        path: '/v2/email/identities',
        description: 'As older versions of the SDKs request it.',
        query: closed(PAGE_QUERY),
      },
      (request) => list(request, request.query),
    ),
    operation(
      {
        id: 'sesGetEmailIdentity',
        method: 'GET',
        path: '/v2/email/identities/{name}',
        tag: 'Domains',
        summary: 'Retrieve an identity',
        scope: 'read:domains',
        params: Type.Object({ name: Type.String({ description: 'The name of the domain.' }) }),
        responses: { 200: { description: 'The sending domain.', body: Type.Object({}) } },
      },
      async (request) => {
        const domain = await findDomain(call, request, request.params.name.toLowerCase());
        return { status: 200, body: toIdentity(domain) };
      },
    ),
  ];
}

interface Domain {
  name: string;
  status: 'pending' | 'verified' | 'degraded' | 'failed';
  return_path_host: string;
  dkim_keys: { selector: string; slot: string }[];
}

const STATUSES: Record<Domain['status'], string> = {
  pending: 'PENDING',
  verified: 'SUCCESS',
  degraded: 'TEMPORARY_FAILURE',
  failed: 'FAILED',
};

/** A degraded domain can still send. */
function maySend({ status }: Domain): boolean {
  return status === 'verified' || status === 'degraded';
}

function toIdentity(domain: Domain): object {
  const status = STATUSES[domain.status];
  return {
    IdentityType: 'DOMAIN',
    FeedbackForwardingStatus: false,
    VerifiedForSendingStatus: maySend(domain),
    VerificationStatus: status,
    DkimAttributes: {
      SigningEnabled: true,
      Status: status,
      SigningAttributesOrigin: 'EXTERNAL',
      Tokens: domain.dkim_keys
        .filter(({ slot }) => slot === 'current')
        .map(({ selector }) => selector),
    },
    MailFromAttributes: {
      MailFromDomain: domain.return_path_host,
      MailFromDomainStatus: status,
      BehaviorOnMxFailure: 'REJECT_MESSAGE',
    },
    Policies: {},
    Tags: [],
  };
}

/** Bounds the search for a name that is part of many others. */
const PAGES_MAX = 20;

async function findDomain(
  call: CompatDependencies['call'],
  request: AnyRequest,
  name: string,
): Promise<Domain> {
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX && name !== ''; page++) {
    const query: Record<string, string> = {
      limit: '100',
      q: name.slice(0, 200),
      ...(cursor === null ? {} : { cursor }),
    };
    const { body } = await call(request, 'listDomains', { query });
    const found = (body.data as Domain[]).find((domain) => domain.name === name);
    if (found) return found;
    cursor = body.next_cursor;
    if (cursor === null) break;
  }
  throw new RefusedError('not_found', `${name} is not a sending domain of this workspace.`);
}

async function sentLastDay(call: CompatDependencies['call'], request: AnyRequest): Promise<number> {
  const query = { interval: 'hour', points: 'false' };
  const { body } = await call(request, 'getStats', { query });
  return body.data[0]?.totals.accepted ?? 0;
}
