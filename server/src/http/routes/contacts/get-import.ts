import { Type } from 'typebox';
import { type ContactImports, publicImport } from '../../../contacts/contact-imports.ts';
import { closed, PAGE, pathId } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { decodeCursor, invalidCursor, toPage } from '../../validation/cursor.ts';
import { decodePathId } from '../../validation/path-id.ts';
import { ContactImportReport } from './schemas.ts';

const FAILURES_DEFAULT = 100;
const FAILURES_MAX = 1_000;

export function getImport(deps: { imports: ContactImports }): Operation {
  return operation(
    {
      id: 'getImport',
      method: 'GET',
      path: '/imports/{id}',
      tag: 'Contacts',
      summary: 'Retrieve an import',
      description:
        'Returns the progress, the results so far, and the failed lines in file order. The ' +
        'report is kept for 30 days.',
      scope: 'read:contacts',
      params: pathId('imp', 'the import'),
      query: closed({
        ...PAGE,
        limit: Type.Optional(
          Type.Integer({
            minimum: 1,
            maximum: FAILURES_MAX,
            default: FAILURES_DEFAULT,
            description: 'Maximum number of failed lines.',
          }),
        ),
      }),
      responses: { 200: { description: 'The import.', body: ContactImportReport } },
      problems: ['not_found'],
    },
    async ({ caller, params, query }) => {
      const id = decodePathId('imp', (params as { id: string }).id, 'import');
      const list = `/imports/${id}`;
      const limit = query.limit ?? FAILURES_DEFAULT;
      const page = { afterLine: lineOf(list, query.cursor), limit: limit + 1 };
      const { job, failures } = await deps.imports.report(caller, id, page);
      const { rows, next_cursor } = toPage(list, failures, limit, ({ line }) => [line]);
      return { status: 200, body: { ...publicImport(job), failures: rows, next_cursor } };
    },
  );
}

function lineOf(list: string, cursor: string | undefined): number {
  if (cursor === undefined) return 0;
  const [line] = decodeCursor(list, cursor, 1);
  if (typeof line !== 'number' || line < 0 || line >= 2 ** 31) throw invalidCursor();
  return line;
}
