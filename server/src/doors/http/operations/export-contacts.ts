import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { exportContacts as startExport } from '../../../contacts/export-contacts.ts';
import type { Pool } from '../../../storage/pool.ts';
import { operation } from '../operation.ts';
import { closed, oneOf } from '../schemas/common.ts';

const MEDIA_TYPES = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
};

export function exportContacts(parts: { pool: Pool }) {
  return operation(
    {
      id: 'exportContacts',
      method: 'GET',
      path: '/contacts/export',
      tag: 'Contacts',
      summary: 'Export contacts',
      description:
        'All contacts of the key’s mode, oldest first. `ndjson` (`application/x-ndjson`): a contact ' +
        'per line, as the API shows it. `csv` (`text/csv`): for spreadsheets, with a column for each ' +
        'attribute; a cell that a spreadsheet would run as a formula has an apostrophe in front.',
      scope: 'read:contacts',
      query: closed({
        format: Type.Optional(oneOf(['ndjson', 'csv'] as const, { default: 'ndjson' })),
      }),
      answers: {
        200: {
          description: 'The contacts.',
          mediaType: 'application/x-ndjson',
          body: Type.String(),
          headers: {
            'Content-Disposition': { description: 'A file name.', schema: Type.String() },
          },
        },
      },
    },
    async ({ caller, query }) => {
      const format = query.format ?? 'ndjson';
      const flow = await startExport(parts.pool, caller, format);
      return {
        status: 200,
        body: Readable.from(flow, { objectMode: false, highWaterMark: 64 * 1024 }),
        mediaType: MEDIA_TYPES[format],
        headers: {
          'content-disposition': `attachment; filename="contacts.${format}"`,
          'x-content-type-options': 'nosniff',
        },
      };
    },
  );
}
