import { Type } from 'typebox';
import type { ContactSubscriptions } from '../../../contacts/contact-subscriptions.ts';
import { exportContacts as startExport } from '../../../contacts/export-contacts.ts';
import { exportFile, FILE_NAME_HEADER, FormatParameter } from '../../export-operation.ts';
import { type ListSources, listReads } from '../../list-reads.ts';
import { exampleOf } from '../../openapi/schema-example.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import type { LargeResponseLimiter } from '../../server/large-response-limiter.ts';
import { Contact } from './schemas.ts';

export function exportContacts(
  deps: ListSources & {
    subscriptions: ContactSubscriptions;
    largeAnswers: LargeResponseLimiter;
  },
): Operation {
  return operation(
    {
      id: 'exportContacts',
      method: 'GET',
      path: '/contacts/export',
      tag: 'Contacts',
      summary: 'Export contacts',
      description:
        'Exports all contacts of the key’s mode, oldest first. `ndjson` ' +
        '(`application/x-ndjson`): one contact per line, as the API returns it. `csv` ' +
        '(`text/csv`): for spreadsheets, with columns for each subscription stream and each attribute; cells that a ' +
        'spreadsheet would run as a formula are prefixed with an apostrophe.',
      scope: 'read:contacts',
      query: closed({ format: FormatParameter }),
      responses: {
        200: {
          description: 'The contacts.',
          mediaType: 'application/x-ndjson',
          body: Type.String(),
          example: `${JSON.stringify(exampleOf(Contact))}\n`,
          alternateTypes: {
            'text/csv': {
              example:
                'email,first_name,last_name,locale,created_at,updated_at,' +
                'subscription:weekly-digest,subscription:weekly-digest:changed_at,' +
                'subscription:weekly-digest:source,plan\r\n' +
                'jane@example.com,Jane,Doe,en-GB,2026-11-15T09:30:00.000Z,2026-11-15T09:30:00.000Z,' +
                'subscribed,2026-11-15T09:30:00.000Z,api,pro\r\n',
            },
          },
          headers: FILE_NAME_HEADER,
        },
      },
      problems: ['quota_exceeded'],
    },
    async ({ caller, query, signal }) => {
      await deps.largeAnswers.acquire(caller.workspaceId, signal);
      const format = query.format ?? 'ndjson';
      const flow = await listReads(deps, caller).run((pool) =>
        startExport(pool, caller, deps.subscriptions, format),
      );
      return exportFile('contacts', format, flow);
    },
  );
}
