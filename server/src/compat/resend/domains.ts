import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { invalidFields } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { Deleted, deleted, ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/domains */

const DomainId = Type.Object({ id: Type.String() });

const Capability = Type.Optional(Type.Union([Type.Literal('enabled'), Type.Literal('disabled')]));

const Settings = {
  capabilities: Type.Optional(closed({ sending: Capability, receiving: Capability })),
  open_tracking: Type.Optional(Type.Boolean()),
  click_tracking: Type.Optional(Type.Boolean()),
  tls: Type.Optional(Type.Union([Type.Literal('enforced'), Type.Literal('opportunistic')])),
  tracking_subdomain: Type.Optional(Type.String()),
};

const ResendDomain = Type.Object(
  { object: Type.Literal('domain'), id: Type.String(), name: Type.String(), status: Type.String() },
  { title: 'ResendDomain' },
);

const DOMAINS = { list: '/domains', prefix: 'dom' } as const;

export function domainOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendCreateDomain',
        method: 'POST',
        path: '/domains',
        tag: 'Domains',
        summary: 'Create a domain',
        scope: 'write:domains',
        body: closed({
          name: Type.String(),
          custom_return_path: Type.Optional(
            Type.String({ description: 'The label below the domain that receives bounces.' }),
          ),
          region: Type.Optional(Type.Unknown()),
          ...Settings,
        }),
        responses: { 201: { description: 'The domain and its records.', body: ResendDomain } },
      },
      async (request) => {
        const { name, custom_return_path: label, region } = request.body;
        if (region !== undefined) {
          const detail = 'Regions are not supported: this server has one location.';
          throw invalidFields([{ pointer: '/region', code: 'unsupported', detail }]);
        }
        if (request.body.capabilities?.receiving === 'enabled') {
          const detail = 'A domain can receive once it is verified. Update it then.';
          const pointer = '/capabilities/receiving';
          throw invalidFields([{ pointer, code: 'unsupported', detail }]);
        }
        const body = {
          name,
          ...(label === undefined ? {} : { return_path_host: `${label}.${name}` }),
          ...toSettings(name, request.body),
        };
        const created = await call(request, 'createDomain', { body });
        return { status: 201, body: toDomain(created.body) };
      },
    ),
    operation(
      {
        id: 'resendListDomains',
        method: 'GET',
        path: '/domains',
        tag: 'Domains',
        summary: 'List domains',
        scope: 'read:domains',
        query: ListQuery,
        responses: { 200: { description: 'The domains, newest first.', body: Type.Object({}) } },
      },
      async (request) => {
        const query = pageQuery(request.query, DOMAINS);
        const { body } = await call(request, 'listDomains', { query });
        return { status: 200, body: toPage(body, toDomain) };
      },
    ),
    operation(
      {
        id: 'resendGetDomain',
        method: 'GET',
        path: '/domains/{id}',
        tag: 'Domains',
        summary: 'Retrieve a domain',
        scope: 'read:domains',
        params: DomainId,
        responses: { 200: { description: 'The domain.', body: ResendDomain } },
      },
      async (request) => {
        const { body } = await call(request, 'getDomain', { params: request.params });
        return { status: 200, body: toDomain(body) };
      },
    ),
    operation(
      {
        id: 'resendUpdateDomain',
        method: 'PATCH',
        path: '/domains/{id}',
        tag: 'Domains',
        summary: 'Update a domain',
        scope: 'write:domains',
        params: DomainId,
        body: closed(Settings),
        responses: { 200: { description: 'Updated.', body: Type.Object({}) } },
      },
      async (request) => {
        const { params } = request;
        const { body: domain } = await call(request, 'getDomain', { params });
        const receiving = request.body.capabilities?.receiving;
        const body = {
          ...toSettings(domain.name, request.body),
          ...(receiving === undefined ? {} : { receiving: receiving === 'enabled' }),
        };
        await call(request, 'updateDomain', { params, body });
        return { status: 200, body: { object: 'domain', id: params.id } };
      },
    ),
    operation(
      {
        id: 'resendVerifyDomain',
        method: 'POST',
        path: '/domains/{id}/verify',
        tag: 'Domains',
        summary: 'Verify a domain',
        scope: 'write:domains',
        params: DomainId,
        responses: { 200: { description: 'The records were checked.', body: Type.Object({}) } },
      },
      async (request) => {
        const { params } = request;
        await call(request, 'verifyDomain', { params });
        return { status: 200, body: { object: 'domain', id: params.id } };
      },
    ),
    operation(
      {
        id: 'resendDeleteDomain',
        method: 'DELETE',
        path: '/domains/{id}',
        tag: 'Domains',
        summary: 'Delete a domain',
        scope: 'write:domains',
        params: DomainId,
        responses: { 200: { description: 'Deleted.', body: Deleted } },
      },
      async (request) => {
        await call(request, 'deleteDomain', { params: request.params });
        return { status: 200, body: deleted('domain', request.params.id) };
      },
    ),
  ];
}

/** The fields of our own domain. A tracking subdomain is a label here, and a whole host at ours. */
function toSettings(
  name: string,
  settings: {
    open_tracking?: boolean;
    click_tracking?: boolean;
    tls?: string;
    tracking_subdomain?: string;
    capabilities?: { sending?: string };
  },
): object {
  const { open_tracking: opens, click_tracking: clicks, tls, tracking_subdomain: label } = settings;
  if (settings.capabilities?.sending === 'disabled') {
    const detail = 'Every domain can send. To stop that, delete the domain.';
    const pointer = '/capabilities/sending';
    throw invalidFields([{ pointer, code: 'unsupported', detail }]);
  }
  return {
    ...(opens === undefined && clicks === undefined
      ? {}
      : {
          tracking: {
            ...(opens === undefined ? {} : { opens }),
            ...(clicks === undefined ? {} : { clicks }),
          },
        }),
    ...(tls === undefined ? {} : { tls: tls === 'enforced' ? 'required' : tls }),
    ...(label === undefined ? {} : { tracking_host: `${label}.${name}` }),
  };
}

interface Domain {
  id: string;
  name: string;
  status: string;
  created_at: string;
  tracking_host: string | null;
  tracking: { opens: boolean; clicks: boolean };
  receiving: boolean;
  records: { purpose: string; type: string; name: string; value: string; status: string }[];
}

/** A degraded domain still sends, so programs that wait for `verified` must not stop. */
const STATUSES: Record<string, string> = { degraded: 'verified' };

const RECORD_STATUSES: Record<string, string> = { found: 'verified', pending: 'not_started' };

const RECORDS: Record<string, string> = {
  dkim: 'DKIM',
  tracking: 'Tracking',
  receiving: 'Receiving',
};

function toDomain(domain: Domain) {
  return {
    object: 'domain',
    id: domain.id,
    name: domain.name,
    status: STATUSES[domain.status] ?? domain.status,
    created_at: domain.created_at,
    open_tracking: domain.tracking.opens,
    click_tracking: domain.tracking.clicks,
    capabilities: { sending: 'enabled', receiving: domain.receiving ? 'enabled' : 'disabled' },
    ...(domain.tracking_host === null
      ? {}
      : { tracking_subdomain: domain.tracking_host.slice(0, -domain.name.length - 1) }),
    records: domain.records.map((record) => ({
      record: RECORDS[record.purpose] ?? 'SPF',
      name: record.name,
      type: record.type,
      ttl: 'Auto',
      status: RECORD_STATUSES[record.status] ?? 'pending',
      ...toValue(record),
    })),
  };
}

/** The value of an MX record starts with its priority, which Resend shows separately. */
function toValue({ type, value }: { type: string; value: string }): object {
  const mx = type === 'MX' ? /^(\d+) (.+)$/.exec(value) : null;
  return mx ? { priority: Number(mx[1]), value: mx[2] } : { value };
}
