import { Type } from 'typebox';
import { type Contacts, publicContact } from '../../../contacts/contacts.ts';
import { type ContactQuery, isSortedByAddress } from '../../../contacts/search-contacts.ts';
import { type ListSources, listReads } from '../../list-reads.ts';
import { closed, LIMIT_DEFAULT, PAGE, page } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { encodeCursor, keyedCursor } from '../../validation/cursor.ts';
import { parseTimeParameter } from '../../validation/query-parameters.ts';
import { Contact } from './schemas.ts';

export function listContacts(
  deps: ListSources & {
    contacts: Contacts;
    /** A filter may examine thousands of contacts, so a workspace runs one such list at a time. */
    filteredLists: LargeResponseLimiter;
  },
): Operation {
  return operation(
    {
      id: 'listContacts',
      method: 'GET',
      path: '/contacts',
      tag: 'Contacts',
      summary: 'List contacts',
      description:
        'Newest first; if `q` is the beginning of an address (it contains an @), sorted by ' +
        'address. Filters can be combined. A request examines a limited number of contacts: ' +
        'with a filter that matches few, a page may be short or empty and still have a ' +
        '`next_cursor`.',
      scope: 'read:contacts',
      query: closed({
        ...PAGE,
        q: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description:
              'Search text for the address or the names, or `@` and a domain; text with an @ inside matches the beginning of an address.',
          }),
        ),
        locale: Type.Optional(Type.String({ minLength: 1, maxLength: 35 })),
        attribute: Type.Optional(
          Type.String({
            pattern: '^[^:]+:',
            maxLength: 512,
            description:
              '`name:value`: only contacts with this attribute. `address.city:Vienna` matches a nested attribute.',
            examples: ['plan:pro'],
          }),
        ),
        created_after: Type.Optional(Type.String({ format: 'date-time' })),
        created_before: Type.Optional(Type.String({ format: 'date-time' })),
      }),
      queryParsers: [(query, invalid) => invalid.has('q') || parseCursor(query)],
      responses: {
        200: { description: 'A page of contacts.', body: page(Contact, 'ContactPage') },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      const limit = query.limit ?? LIMIT_DEFAULT;
      const wanted = queryOf(query);
      if (Object.keys(wanted).length > 0) {
        await deps.filteredLists.acquire(caller.workspaceId, signal);
      }
      const from = parseCursor(query);
      const after = from && { id: from.id, emailKey: from.key };
      const found = await listReads(deps, caller).run((pool) =>
        deps.contacts.search(pool, caller, wanted, { after, limit }),
      );
      return {
        status: 200,
        body: {
          data: found.contacts.map((contact) => publicContact(caller, contact)),
          next_cursor:
            found.next && encodeCursor(listOf(query), [found.next.id, found.next.emailKey]),
        },
      };
    },
  );
}

function parseCursor(query: Record<string, unknown>) {
  return keyedCursor(listOf(query), query);
}

function listOf(query: Record<string, unknown>): string {
  return isSortedByAddress(queryOf(query)) ? '/contacts?q' : '/contacts';
}

function queryOf(query: Record<string, unknown>): ContactQuery {
  return {
    ...(query.q === undefined ? {} : { text: query.q as string }),
    ...(query.locale === undefined ? {} : { locale: query.locale as string }),
    ...(query.attribute === undefined ? {} : { attribute: attributeOf(query.attribute as string) }),
    ...parseTimeParameter('createdAfterMs', 'created_after', query),
    ...parseTimeParameter('createdBeforeMs', 'created_before', query),
  };
}

function attributeOf(text: string): { path: string[]; text: string } {
  const colon = text.indexOf(':');
  return { path: text.slice(0, colon).split('.'), text: text.slice(colon + 1) };
}
