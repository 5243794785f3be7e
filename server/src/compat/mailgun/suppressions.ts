import { type TSchema, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { defaultStream } from '../default-stream.ts';
import { DomainPath, pathDomain } from './domain-path.ts';
import { Limit, limitOf, pageUrl } from './paging.ts';
import { toDate } from './times.ts';

/**
 * https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/bounces, /unsubscribe and
 * /complaints. Suppressions are those of the workspace and apply to all of its domains.
 */

const Address = Type.String({ description: 'The address.', examples: ['jane@example.com'] });

interface Kind {
  /** The path and the name of the table in messages. */
  name: 'bounces' | 'unsubscribes' | 'complaints';
  /** Capitalized, in operation ids. */
  Noun: string;
  reason: string;
  entry: TSchema;
  toItem(suppression: Suppression): object;
  noteOf(entry: Entry): string;
}

interface Suppression {
  id: string;
  email: string | null;
  reason: string;
  note: string | null;
  evidence: { smtp?: { code: number | null; text: string } | null } | null;
  created_at: string;
}

interface Entry {
  address: string;
  code?: string | number;
  error?: string;
  tag?: string;
  tags?: string[];
}

const KINDS: readonly Kind[] = [
  {
    name: 'bounces',
    Noun: 'Bounce',
    reason: 'hard_bounce',
    entry: closed(
      {
        address: Address,
        code: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
        error: Type.Optional(Type.String()),
      },
      { title: 'MailgunBounce' },
    ),
    toItem: ({ email, evidence, note, created_at: createdAt }) => ({
      address: email,
      code: String(evidence?.smtp?.code ?? codeOf(note)),
      error: evidence?.smtp?.text ?? (note ?? '').replace(/^\d{3} ?/, ''),
      created_at: toDate(createdAt),
    }),
    noteOf: ({ code, error }) => [code, error].filter((part) => part !== undefined).join(' '),
  },
  {
    name: 'unsubscribes',
    Noun: 'Unsubscribe',
    reason: 'unsubscribe',
    entry: closed(
      {
        address: Address,
        tag: Type.Optional(Type.Literal('*')),
        tags: Type.Optional(
          Type.Array(Type.Literal('*'), {
            description: 'Only `*`: an unsubscribe applies to all messages.',
          }),
        ),
      },
      { title: 'MailgunUnsubscribe' },
    ),
    toItem: ({ email, created_at: createdAt }) => ({
      address: email,
      tags: ['*'],
      created_at: toDate(createdAt),
    }),
    noteOf: () => '',
  },
  {
    name: 'complaints',
    Noun: 'Complaint',
    reason: 'complaint',
    entry: closed({ address: Address }, { title: 'MailgunComplaint' }),
    toItem: ({ email, created_at: createdAt }) => ({
      address: email,
      created_at: toDate(createdAt),
    }),
    noteOf: () => '',
  },
];

const LIMIT = { otherwise: 100, maximum: 1000 };

const ListQuery = closed({
  limit: Limit,
  page: Type.Optional(
    Type.Union([Type.Literal('first'), Type.Literal('next')], {
      description: 'Lists are read from the first page on, newest first.',
    }),
  ),
  address: Type.Optional(Type.String({ description: 'The position in a link of `paging`.' })),
  term: Type.Optional(
    Type.String({ minLength: 1, maxLength: 320, description: 'The beginning of an address.' }),
  ),
});

const Items = Type.Object({
  items: Type.Array(Type.Object({})),
  paging: Type.Record(Type.String(), Type.String()),
});
const Message = Type.Object({ message: Type.String() });
const AddressPath = Type.Object({ ...DomainPath.properties, address: Address });

export function suppressionOperations(deps: CompatDependencies): Operation[] {
  return KINDS.flatMap((kind) => [
    listOperation(deps, kind),
    getOperation(deps, kind),
    createOperation(deps, kind),
    deleteOperation(deps, kind),
  ]);
}

function listOperation({ call, baseUrl }: CompatDependencies, kind: Kind): Operation {
  return operation(
    {
      id: `mailgunList${kind.Noun}s`,
      method: 'GET',
      path: `/v3/{domain}/${kind.name}`,
      tag: 'Suppressions',
      summary: `List ${kind.name}`,
      scope: 'read:suppressions',
      params: DomainPath,
      query: ListQuery,
      responses: { 200: { description: 'A page of addresses.', body: Items } },
    },
    async (request) => {
      const { address, term, page } = request.query;
      const limit = limitOf(request.query.limit, LIMIT);
      const path = `/v3/${pathDomain(request.params)}/${kind.name}`;
      const found: Suppression[] = [];
      let cursor: string | null = page === 'next' ? (address ?? null) : null;
      const isPastEnd = cursor === END;
      while (!isPastEnd && found.length < limit) {
        const query: Record<string, string> = {
          reason: kind.reason,
          stream: defaultStream(request),
          limit: String(Math.min(100, limit - found.length)),
          ...(term === undefined ? {} : { q: term }),
          ...(cursor === null ? {} : { cursor }),
        };
        const { body } = await call(request, 'listSuppressions', { query });
        found.push(...body.data);
        cursor = body.next_cursor;
        if (cursor === null) break;
      }
      const kept = { limit: String(limit), ...(term === undefined ? {} : { term }) };
      const first = pageUrl(baseUrl, path, { page: 'first', ...kept });
      // The page after the last one is empty, as at Mailgun.
      const position = cursor ?? END;
      const next = pageUrl(baseUrl, path, { page: 'next', address: position, ...kept });
      const items = found.filter(({ email }) => email !== null);
      return {
        status: 200,
        body: {
          items: items.map(kind.toItem),
          paging: { first, next, previous: first, last: next },
        },
      };
    },
  );
}

const END = 'end';

function getOperation({ call }: CompatDependencies, kind: Kind): Operation {
  return operation(
    {
      id: `mailgunGet${kind.Noun}`,
      method: 'GET',
      path: `/v3/{domain}/${kind.name}/{address}`,
      tag: 'Suppressions',
      summary: `Retrieve an address of the ${kind.name}`,
      scope: 'read:suppressions',
      params: AddressPath,
      responses: { 200: { description: 'The address.', body: Type.Object({}) } },
    },
    async (request) => {
      pathDomain(request.params);
      const [found] = await findSuppressions(call, request, kind, request.params.address);
      return { status: 200, body: kind.toItem(found) };
    },
  );
}

function createOperation({ call }: CompatDependencies, kind: Kind): Operation {
  const entries = Type.Array(kind.entry, { minItems: 1, maxItems: LIMIT.maximum });
  return operation(
    {
      id: `mailgunCreate${kind.Noun}s`,
      method: 'POST',
      path: `/v3/{domain}/${kind.name}`,
      tag: 'Suppressions',
      summary: `Add to the ${kind.name}`,
      description: 'One address as a form, or up to 1,000 as JSON. All are added, or none.',
      scope: 'write:suppressions',
      params: DomainPath,
      body: Type.Union([kind.entry, entries]),
      acceptsForms: true,
      responses: { 200: { description: 'Added.', body: Message } },
    },
    async (request) => {
      pathDomain(request.params);
      const body = request.body as Entry | Entry[];
      const list = [body].flat();
      checkAddresses(list);
      const suppressions = list.map((entry) => {
        const note = kind.noteOf(entry).slice(0, 1000);
        return { email: entry.address, reason: kind.reason, ...(note === '' ? {} : { note }) };
      });
      await call(request, 'createSuppressionsBulk', { body: { suppressions } });
      const table = `the ${kind.name} table`;
      return {
        status: 200,
        body: Array.isArray(body)
          ? { message: `${body.length} addresses have been added to ${table}` }
          : { message: `Address has been added to ${table}`, address: body.address },
      };
    },
  );
}

/** Our own bulk operation adds the valid ones. */
function checkAddresses(entries: readonly Entry[]): void {
  const errors: FieldError[] = [];
  for (const [index, { address }] of entries.entries()) {
    const parsed = parseMailbox(address);
    if (parsed.ok) continue;
    const pointer = entries.length === 1 ? '/address' : `/${index}/address`;
    errors.push({ pointer, code: 'invalid_email', detail: parsed.detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
}

function deleteOperation({ call }: CompatDependencies, kind: Kind): Operation {
  return operation(
    {
      id: `mailgunDelete${kind.Noun}`,
      method: 'DELETE',
      path: `/v3/{domain}/${kind.name}/{address}`,
      tag: 'Suppressions',
      summary: `Remove an address from the ${kind.name}`,
      scope: 'write:suppressions',
      params: AddressPath,
      responses: { 200: { description: 'Removed.', body: Message } },
    },
    async (request) => {
      pathDomain(request.params);
      const { address } = request.params;
      for (const { id } of await findSuppressions(call, request, kind, address)) {
        await call(request, 'deleteSuppression', { params: { id } });
      }
      return { status: 200, body: { message: `${kind.Noun} has been removed`, address } };
    },
  );
}

/** An address can be suppressed both in a stream and everywhere. */
async function findSuppressions(
  call: CompatDependencies['call'],
  request: AnyRequest,
  kind: Kind,
  address: string,
): Promise<[Suppression, ...Suppression[]]> {
  const query = { email: address, reason: kind.reason, stream: defaultStream(request) };
  const { body } = await call(request, 'listSuppressions', { query });
  // The list also has a suppression of the whole domain.
  const [first, ...others] = (body.data as Suppression[]).filter(({ email }) => email !== null);
  if (first) return [first, ...others];
  throw new RefusedError('not_found', `Address not found in ${kind.name} table`);
}

function codeOf(note: string | null): string {
  return /^\d{3}\b/.exec(note ?? '')?.[0] ?? '550';
}
