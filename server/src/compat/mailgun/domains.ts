import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { DomainPath, pathDomain } from './domain-path.ts';
import { toDate } from './times.ts';

/** https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/domains */

const ListQuery = closed({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  skip: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
  state: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('unverified')])),
});

const GetQuery = closed({
  'h:extended': Type.Optional(Type.Boolean()),
  'h:with_dns': Type.Optional(Type.Boolean()),
});

const Domains = Type.Object({
  total_count: Type.Integer(),
  items: Type.Array(Type.Object({})),
});
const Domain = Type.Object({ domain: Type.Object({}) });

/** A workspace with more domains uses the paged list of our own API. */
const PAGES_MAX = 100;
const VERSIONS = ['v3', 'v4'] as const;

export function domainOperations({ call }: CompatDependencies): Operation[] {
  return VERSIONS.flatMap((version) => [
    operation(
      {
        id: `mailgunListDomains${version.toUpperCase()}`,
        method: 'GET',
        path: `/${version}/domains`,
        tag: 'Domains',
        summary: 'List domains',
        scope: 'read:domains',
        query: ListQuery,
        responses: { 200: { description: 'The domains.', body: Domains } },
      },
      async (request) => {
        const { limit = 100, skip = 0, search, state } = request.query;
        const all = (await allDomains(call, request, search)).map(toDomain);
        const matching = all.filter((domain) => state === undefined || domain.state === state);
        const items = matching.slice(skip, skip + limit);
        return { status: 200, body: { total_count: matching.length, items } };
      },
    ),
    operation(
      {
        id: `mailgunGetDomain${version.toUpperCase()}`,
        method: 'GET',
        path: `/${version}/domains/{domain}`,
        tag: 'Domains',
        summary: 'Retrieve a domain',
        scope: 'read:domains',
        params: DomainPath,
        query: GetQuery,
        responses: { 200: { description: 'The domain.', body: Domain } },
      },
      async (request) => {
        const domain = await findDomain(call, request, pathDomain(request.params));
        return { status: 200, body: withRecords(domain) };
      },
    ),
    operation(
      {
        id: `mailgunVerifyDomain${version.toUpperCase()}`,
        method: 'PUT',
        path: `/${version}/domains/{domain}/verify`,
        tag: 'Domains',
        summary: 'Verify a domain',
        description: 'Checks its DNS records now.',
        scope: 'write:domains',
        mode: 'live',
        params: DomainPath,
        responses: { 200: { description: 'The domain.', body: Domain } },
      },
      async (request) => {
        const { id } = await findDomain(call, request, pathDomain(request.params));
        const { body } = await call(request, 'verifyDomain', { params: { id } });
        const message = 'Domain DNS records have been checked';
        return { status: 200, body: { message, ...withRecords(body) } };
      },
    ),
  ]);
}

interface OurDomain {
  id: string;
  name: string;
  status: 'pending' | 'verified' | 'degraded' | 'failed';
  tls: string;
  tracking_host: string | null;
  created_at: string;
  records: {
    purpose: string;
    type: string;
    name: string;
    value: string;
    status: string;
    found: string[];
  }[];
}

async function allDomains(
  call: CompatDependencies['call'],
  request: AnyRequest,
  search: string | undefined,
): Promise<OurDomain[]> {
  const found: OurDomain[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const query: Record<string, string> = {
      limit: '100',
      ...(search === undefined ? {} : { q: search }),
      ...(cursor === null ? {} : { cursor }),
    };
    const { body } = await call(request, 'listDomains', { query });
    found.push(...body.data);
    cursor = body.next_cursor;
    if (cursor === null) break;
  }
  return found;
}

async function findDomain(
  call: CompatDependencies['call'],
  request: AnyRequest,
  name: string,
): Promise<OurDomain> {
  const found = await allDomains(call, request, name);
  const domain = found.find((one) => one.name === name);
  if (domain) return domain;
  throw new RefusedError('not_found', `Domain not found: ${name}`);
}

function toDomain(domain: OurDomain) {
  const isActive = domain.status === 'verified' || domain.status === 'degraded';
  return {
    id: domain.id,
    name: domain.name,
    state: isActive ? 'active' : 'unverified',
    type: 'custom',
    created_at: toDate(domain.created_at),
    is_disabled: false,
    require_tls: domain.tls === 'required',
    skip_verification: false,
    spam_action: 'disabled',
    use_automatic_sender_security: false,
    web_prefix: domain.tracking_host?.split('.')[0] ?? '',
    web_scheme: 'https',
    wildcard: false,
  };
}

function withRecords(domain: OurDomain): object {
  const records = (receiving: boolean): object[] =>
    domain.records
      .filter(({ type }) => (type === 'MX') === receiving)
      .map(({ type, name, value, status, found }) => ({
        record_type: type,
        name,
        value,
        valid: status === 'found' ? 'valid' : status === 'pending' ? 'unknown' : 'invalid',
        is_active: status === 'found',
        cached: found,
      }));
  return {
    domain: toDomain(domain),
    receiving_dns_records: records(true),
    sending_dns_records: records(false),
  };
}
