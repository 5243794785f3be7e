import { type Static, Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { type FieldError, invalidFields } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { refusedOperation } from '../refused-operation.ts';
import { ListQuery, pageQuery, toPage } from './lists.ts';
import { CONTACT_IMPORTS } from './not-offered.ts';
import { Subscriptions, toSubscriptions } from './topics.ts';

/** https://resend.com/docs/api-reference/contacts */

const NullableText = Type.Union([Type.String(), Type.Null()]);

const Changeable = {
  first_name: Type.Optional(NullableText),
  last_name: Type.Optional(NullableText),
  unsubscribed: Type.Optional(Type.Boolean()),
  properties: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  segments: Type.Optional(Type.Unknown()),
  topics: Type.Optional(Subscriptions),
};

const Change = closed(Changeable);

const ContactPath = Type.Object({
  id: Type.String({ description: 'The id or the address of the contact.' }),
});

const Changed = Type.Object({ object: Type.Literal('contact'), id: Type.String() });

const CONTACTS = { list: '/contacts', prefix: 'ctc', keyed: true } as const;

export function contactOperations({ call }: CompatDependencies): Operation[] {
  return [
    operation(
      {
        id: 'resendCreateContact',
        method: 'POST',
        path: '/contacts',
        tag: 'Contacts',
        summary: 'Create a contact',
        scope: 'write:contacts',
        body: closed({ email: Type.String(), ...Changeable }),
        responses: { 201: { description: 'Created.', body: Changed } },
      },
      async (request) => {
        const body = { email: request.body.email, ...toFields(request.body) };
        const { body: contact } = await call(request, 'createContact', { body });
        return { status: 201, body: { object: 'contact', id: contact.id } };
      },
    ),
    operation(
      {
        id: 'resendListContacts',
        method: 'GET',
        path: '/contacts',
        tag: 'Contacts',
        summary: 'List contacts',
        scope: 'read:contacts',
        query: ListQuery,
        responses: { 200: { description: 'The contacts, newest first.', body: Type.Object({}) } },
      },
      async (request) => {
        const query = pageQuery(request.query, CONTACTS);
        const { body } = await call(request, 'listContacts', { query });
        return { status: 200, body: toPage(body, toContact) };
      },
    ),
    operation(
      {
        id: 'resendGetContact',
        method: 'GET',
        path: '/contacts/{id}',
        tag: 'Contacts',
        summary: 'Retrieve a contact',
        scope: 'read:contacts',
        params: ContactPath,
        responses: { 200: { description: 'The contact.', body: Type.Object({}) } },
      },
      async (request) => {
        const params = { email: request.params.id };
        const { body } = await call(request, 'getContact', { params });
        return { status: 200, body: { object: 'contact', ...toContact(body) } };
      },
    ),
    operation(
      {
        id: 'resendUpdateContact',
        method: 'PATCH',
        path: '/contacts/{id}',
        tag: 'Contacts',
        summary: 'Update a contact',
        scope: 'write:contacts',
        params: ContactPath,
        body: Change,
        responses: { 200: { description: 'Updated.', body: Changed } },
      },
      async (request) => {
        const params = { email: request.params.id };
        const { body } = await call(request, 'updateContact', {
          params,
          body: toFields(request.body),
        });
        return { status: 200, body: { object: 'contact', id: body.id } };
      },
    ),
    operation(
      {
        id: 'resendDeleteContact',
        method: 'DELETE',
        path: '/contacts/{id}',
        tag: 'Contacts',
        summary: 'Delete a contact',
        scope: 'write:contacts',
        params: ContactPath,
        responses: { 200: { description: 'Deleted.', body: Type.Object({}) } },
      },
      async (request) => {
        const { id } = request.params;
        await call(request, 'deleteContact', { params: { email: id } });
        return { status: 200, body: { object: 'contact', contact: id, deleted: true } };
      },
    ),
    refusedImports(),
  ];
}

/** The path would otherwise be that of the contact `imports`. */
function refusedImports(): Operation {
  return refusedOperation(
    {
      id: 'resendListContactImports',
      method: 'GET',
      path: '/contacts/imports',
      tag: 'Contacts',
      summary: 'List imports',
    },
    'not_found',
    CONTACT_IMPORTS,
  );
}

/** The fields of our own contact. What a contact has no equivalent for is refused. */
function toFields(change: Static<typeof Change>): object {
  const errors: FieldError[] = [];
  if (change.unsubscribed === true) {
    const detail =
      'A contact leaves topics, not all mail. Opt out of its topics, or add the address to the suppressions.';
    errors.push({ pointer: '/unsubscribed', code: 'unsupported', detail });
  }
  if (change.segments !== undefined) {
    const detail = 'Contacts have no segments here.';
    errors.push({ pointer: '/segments', code: 'unsupported', detail });
  }
  if (errors.length > 0) throw invalidFields(errors);
  const { first_name, last_name, properties, topics } = change;
  return {
    ...(first_name === undefined ? {} : { first_name }),
    ...(last_name === undefined ? {} : { last_name }),
    ...(properties === undefined ? {} : { attributes: properties }),
    ...(topics === undefined ? {} : { subscriptions: toSubscriptions(topics) }),
  };
}

interface Contact {
  id: string;
  email: string;
  first_name: string | null;
  last_name: string | null;
  attributes: Record<string, unknown>;
  created_at: string;
}

function toContact({ id, email, first_name, last_name, attributes, created_at }: Contact) {
  return {
    id,
    email,
    first_name,
    last_name,
    created_at,
    unsubscribed: false,
    properties: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, toProperty(value)]),
    ),
  };
}

/** Resend's properties are texts and numbers. */
function toProperty(value: unknown): object {
  if (typeof value === 'number') return { type: 'number', value };
  return { type: 'string', value: typeof value === 'string' ? value : JSON.stringify(value) };
}
