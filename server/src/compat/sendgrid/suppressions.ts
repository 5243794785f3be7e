import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest, CallOperation } from '../../http/server/call-operation.ts';
import { type FieldError, invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { parseMailbox } from '../../mail/address.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { defaultStream } from '../default-stream.ts';
import { refusedOperation } from '../refused-operation.ts';

/**
 * SendGrid keeps a list for each reason not to send; Postrider keeps one list whose entries have a
 * reason: https://www.twilio.com/docs/sendgrid/api-reference/bounces-api, /spam-reports-api and
 * /suppressions-global-suppressions.
 */

interface Suppression {
  id: string;
  email: string | null;
  domain: string | null;
  reason: string;
  evidence: { smtp?: SmtpReply | null } | null;
  created_at: string;
}

interface SmtpReply {
  code: number | null;
  enhanced: string | null;
  text: string;
  mx: string | null;
}

interface List {
  /** In the path and in operation ids. */
  name: string;
  noun: string;
  id: string;
  reasons: readonly string[];
  includes(suppression: Suppression): boolean;
  /** What an entry has beside its address and time. */
  details(suppression: Suppression): object;
}

const BOUNCES: List = {
  name: 'bounces',
  noun: 'bounces',
  id: 'Bounce',
  reasons: ['hard_bounce'],
  includes: (suppression) => !isUnreachable(suppression),
  details: (suppression) => ({
    reason: replyText(suppression),
    status: suppression.evidence?.smtp?.enhanced ?? '',
  }),
};
const INVALID_EMAILS: List = {
  name: 'invalid_emails',
  noun: 'invalid addresses',
  id: 'InvalidEmail',
  reasons: ['hard_bounce'],
  includes: isUnreachable,
  details: (suppression) => ({ reason: replyText(suppression) }),
};
const SPAM_REPORTS: List = {
  name: 'spam_reports',
  noun: 'spam reports',
  id: 'SpamReport',
  reasons: ['complaint'],
  includes: () => true,
  details: () => ({ ip: '' }),
};
const UNSUBSCRIBES: List = {
  name: 'unsubscribes',
  noun: 'global unsubscribes',
  id: 'Unsubscribe',
  reasons: ['unsubscribe', 'manual'],
  includes: () => true,
  details: () => ({}),
};

/** No server replied, because the domain of the address has none. */
function isUnreachable({ evidence }: Suppression): boolean {
  return evidence?.smtp?.code === null && evidence.smtp.mx === null;
}

function replyText({ evidence }: Suppression): string {
  return [evidence?.smtp?.code, evidence?.smtp?.text].filter(Boolean).join(' ');
}

const Entries = Type.Array(
  Type.Object(
    {
      created: Type.Integer(),
      email: Type.String(),
      reason: Type.Optional(Type.String()),
      status: Type.Optional(Type.String()),
      ip: Type.Optional(Type.String()),
    },
    { title: 'SendGridSuppression' },
  ),
);

const LIMIT_MAX = 500;
const OFFSET_MAX = 9_500;
/** Bounds one request; each page has 100 suppressions. */
const PAGES_MAX = 100;

const ListQuery = closed({
  start_time: Type.Optional(Type.Integer({ minimum: 0, maximum: 253_402_300_799 })),
  end_time: Type.Optional(Type.Integer({ minimum: 0, maximum: 253_402_300_799 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: LIMIT_MAX })),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: OFFSET_MAX,
      description: 'For more entries, narrow start_time and end_time.',
    }),
  ),
});

const AddressPath = Type.Object({ email: Type.String() });

export function suppressionOperations(deps: CompatDependencies): Operation[] {
  return [
    ...[BOUNCES, INVALID_EMAILS, SPAM_REPORTS].flatMap((list) => [
      listEntries(deps, list),
      ...addressOperations(deps, list),
      deleteArchivedContents(deps, list),
    ]),
    listEntries(deps, UNSUBSCRIBES),
    ...globalUnsubscribes(deps),
    ...refusedLists(),
  ];
}

function listEntries({ call }: CompatDependencies, list: List): Operation {
  return operation(
    {
      id: `sendgridList${list.id}s`,
      method: 'GET',
      path: `/v3/suppression/${list.name}`,
      tag: 'Suppressions',
      summary: `List ${list.noun}`,
      scope: 'read:suppressions',
      query: ListQuery,
      responses: { 200: { description: 'The entries, newest first.', body: Entries } },
    },
    async (request) => {
      const found = await find(call, request, list, request.query);
      return { status: 200, body: found.map((one) => toEntry(one, list)) };
    },
  );
}

function addressOperations({ call }: CompatDependencies, list: List): Operation[] {
  return [
    operation(
      {
        id: `sendgridGet${list.id}`,
        method: 'GET',
        path: `/v3/suppression/${list.name}/{email}`,
        tag: 'Suppressions',
        summary: `Look up an address in the ${list.noun}`,
        scope: 'read:suppressions',
        params: AddressPath,
        responses: { 200: { description: 'The entry, or none.', body: Entries } },
      },
      async (request) => {
        const [found] = await findAddress(call, request, list, request.params.email);
        return { status: 200, body: found ? [toEntry(found, list)] : [] };
      },
    ),
    operation(
      {
        id: `sendgridDelete${list.id}`,
        method: 'DELETE',
        path: `/v3/suppression/${list.name}/{email}`,
        tag: 'Suppressions',
        summary: `Delete an address from the ${list.noun}`,
        scope: 'write:suppressions',
        params: AddressPath,
        responses: { 204: { description: 'Deleted.' } },
      },
      async (request) => {
        await deleteAddress(call, request, list, request.params.email);
        return { status: 204 };
      },
    ),
  ];
}

function deleteArchivedContents({ call }: CompatDependencies, list: List): Operation {
  return operation(
    {
      id: `sendgridDelete${list.id}s`,
      method: 'DELETE',
      path: `/v3/suppression/${list.name}`,
      tag: 'Suppressions',
      summary: `Delete ${list.noun}`,
      description: 'Either all of them, or those of the given addresses.',
      scope: 'write:suppressions',
      body: closed({
        delete_all: Type.Optional(Type.Boolean()),
        emails: Type.Optional(Type.Array(Type.String(), { maxItems: 1000 })),
      }),
      responses: { 204: { description: 'Deleted.' } },
    },
    async (request) => {
      const { delete_all: all = false, emails = [] } = request.body;
      if (all === emails.length > 0) {
        const detail = 'Give either delete_all or emails.';
        throw invalidFields([{ pointer: '/emails', code: 'conflict', detail }]);
      }
      checkAddresses(emails, '/emails');
      if (all) await deleteAll(call, request, list);
      for (const email of emails) {
        for (const found of await findAddress(call, request, list, email)) {
          await deleteSuppression(call, request, found);
        }
      }
      return { status: 204 };
    },
  );
}

function globalUnsubscribes({ call }: CompatDependencies): Operation[] {
  const Recipients = closed(
    { recipient_emails: Type.Array(Type.String(), { minItems: 1, maxItems: 1000 }) },
    { title: 'SendGridRecipients' },
  );
  const path = '/v3/asm/suppressions/global';
  return [
    operation(
      {
        id: 'sendgridCreateUnsubscribes',
        method: 'POST',
        path,
        tag: 'Suppressions',
        summary: 'Add global unsubscribes',
        scope: 'write:suppressions',
        body: Recipients,
        responses: { 201: { description: 'Added.', body: Recipients } },
      },
      async (request) => {
        const { recipient_emails: emails } = request.body;
        checkAddresses(emails, '/recipient_emails');
        const suppressions = emails.map((email) => ({ email, reason: 'unsubscribe' }));
        await call(request, 'createSuppressionsBulk', { body: { suppressions } });
        return { status: 201, body: { recipient_emails: emails } };
      },
    ),
    operation(
      {
        id: 'sendgridGetUnsubscribe',
        method: 'GET',
        path: `${path}/{email}`,
        tag: 'Suppressions',
        summary: 'Look up an address in the global unsubscribes',
        scope: 'read:suppressions',
        params: AddressPath,
        responses: {
          200: {
            description: 'The address; an empty object if it is not on the list.',
            body: Type.Object({ recipient_email: Type.Optional(Type.String()) }),
          },
        },
      },
      async (request) => {
        const [found] = await findAddress(call, request, UNSUBSCRIBES, request.params.email);
        return { status: 200, body: found ? { recipient_email: found.email } : {} };
      },
    ),
    operation(
      {
        id: 'sendgridDeleteUnsubscribe',
        method: 'DELETE',
        path: `${path}/{email}`,
        tag: 'Suppressions',
        summary: 'Delete a global unsubscribe',
        scope: 'write:suppressions',
        params: AddressPath,
        responses: { 204: { description: 'Deleted.' } },
      },
      async (request) => {
        await deleteAddress(call, request, UNSUBSCRIBES, request.params.email);
        return { status: 204 };
      },
    ),
  ];
}

function refusedLists(): Operation[] {
  const reason =
    'There is no list of blocks: a block does not suppress an address. Blocks are events of type message.bounced, with the bounce class "block".';
  const path = '/v3/suppression/blocks';
  const summary = 'Blocks';
  return (['GET', 'DELETE'] as const).flatMap((method) =>
    [path, `${path}/{email}`].map((one, index) =>
      refusedOperation(
        {
          id: `sendgrid${method === 'GET' ? 'Read' : 'Delete'}Block${index === 0 ? 's' : ''}`,
          method,
          path: one,
          tag: 'Suppressions',
          summary,
        },
        'not_found',
        reason,
      ),
    ),
  );
}

function toEntry(suppression: Listed, list: List): object {
  return {
    created: Math.floor(Date.parse(suppression.created_at) / 1000),
    email: suppression.email,
    ...list.details(suppression),
  };
}

type Listed = Suppression & { email: string };

/** An erased address and a suppressed domain have no place on a list of addresses. */
function isListed(list: List, suppression: Suppression): suppression is Listed {
  return suppression.email !== null && list.includes(suppression);
}

async function find(
  call: CallOperation,
  request: AnyRequest,
  list: List,
  { start_time: start, end_time: end, limit = LIMIT_MAX, offset = 0 }: Static<typeof ListQuery>,
): Promise<Listed[]> {
  const filter = {
    stream: defaultStream(request),
    ...(start === undefined ? {} : { created_after: toTime(start) }),
    // SendGrid includes the second of end_time.
    ...(end === undefined ? {} : { created_before: toTime(end + 1) }),
  };
  const found: Listed[] = [];
  for (const reason of list.reasons) {
    const wanted = found.length + offset + limit;
    for await (const page of pages(call, request, { reason, ...filter })) {
      found.push(...page.filter((one) => isListed(list, one)));
      if (found.length >= wanted) break;
    }
  }
  // The ids of entries are ascending in time.
  found.sort((a, b) => (a.id < b.id ? 1 : -1));
  return found.slice(offset, offset + limit);
}

async function* pages(
  call: CallOperation,
  request: AnyRequest,
  query: Record<string, string>,
): AsyncGenerator<Suppression[]> {
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { body } = await call(request, 'listSuppressions', {
      query: { ...query, limit: '100', ...(cursor === null ? {} : { cursor }) },
    });
    yield body.data;
    cursor = body.next_cursor;
    if (cursor === null) return;
  }
  const detail = 'There are too many entries. Narrow start_time and end_time.';
  throw invalidFields([{ parameter: 'start_time', code: 'too_many', detail }]);
}

/** An address can be suppressed both in a stream and everywhere. */
async function findAddress(
  call: CallOperation,
  request: AnyRequest,
  list: List,
  email: string,
): Promise<Listed[]> {
  const query = { email, stream: defaultStream(request), limit: '100' };
  const { body } = await call(request, 'listSuppressions', { query });
  return (body.data as Suppression[])
    .filter(({ reason }) => list.reasons.includes(reason))
    .map((one) => ({ ...one, email: one.domain === null ? (one.email ?? email) : null }))
    .filter((one): one is Listed => isListed(list, one));
}

async function deleteAddress(
  call: CallOperation,
  request: AnyRequest,
  list: List,
  email: string,
): Promise<void> {
  const found = await findAddress(call, request, list, email);
  if (found.length === 0) {
    throw new RefusedError('not_found', `${email} is not among the ${list.noun}.`);
  }
  for (const one of found) await deleteSuppression(call, request, one);
}

/** Repeating it after an interruption continues where it stopped. */
async function deleteAll(call: CallOperation, request: AnyRequest, list: List): Promise<void> {
  for (const reason of list.reasons) {
    let cursor: string | null = null;
    do {
      const query: Record<string, string> = {
        reason,
        stream: defaultStream(request),
        limit: '100',
        ...(cursor === null ? {} : { cursor }),
      };
      const { body } = await call(request, 'listSuppressions', { query });
      for (const suppression of body.data as Suppression[]) {
        if (request.signal.aborted) return;
        if (isListed(list, suppression)) await deleteSuppression(call, request, suppression);
      }
      cursor = body.next_cursor;
    } while (cursor !== null);
  }
}

async function deleteSuppression(
  call: CallOperation,
  request: AnyRequest,
  { id }: Suppression,
): Promise<void> {
  try {
    await call(request, 'deleteSuppression', { params: { id } });
  } catch (error) {
    // It was deleted since it was listed.
    if (!(error instanceof RefusedError) || error.code !== 'not_found') throw error;
  }
}

/** Bad addresses are all reported before anything changes. */
function checkAddresses(emails: readonly string[], pointer: string): void {
  const errors = emails.flatMap((email, index): FieldError[] => {
    const parsed = parseMailbox(email);
    if (parsed.ok) return [];
    return [{ pointer: `${pointer}/${index}`, code: 'invalid_email', detail: parsed.detail }];
  });
  if (errors.length > 0) throw invalidFields(errors);
}

function toTime(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}
