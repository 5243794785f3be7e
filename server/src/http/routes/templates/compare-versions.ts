import { Type } from 'typebox';
import { RefusedError } from '../../../lib/refused-error.ts';
import {
  runInContentThread,
  SMALL_CONTENT_CHARS_MAX,
} from '../../../messages/content/content-thread.ts';
import { compareContents, type FieldChange } from '../../../templates/content/compare-contents.ts';
import type { StoredContent } from '../../../templates/content/stored-content.ts';
import type { Templates } from '../../../templates/templates.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { PathKey, VersionName, VersionParameter } from './schemas.ts';
import { parseVersion } from './template-response.ts';

const Comparison = Type.Object(
  {
    key: Type.String(),
    from: VersionName,
    to: VersionName,
    changes: Type.Array(
      Type.Object({
        field: Type.String({ description: '`html`, `locales.de.subject`, `variables.code`.' }),
        before: Type.Unknown({ description: 'Null if it was added.' }),
        after: Type.Unknown({ description: 'Null if it was removed.' }),
        diff: Type.Union([Type.String(), Type.Null()], {
          description: 'For text, the changed lines in `diff -u` format.',
        }),
      }),
    ),
  },
  {
    title: 'Comparison',
    examples: [
      {
        key: 'welcome',
        from: 2,
        to: 'draft',
        changes: [
          {
            field: 'subject',
            before: 'Welcome',
            after: 'Welcome, ${first_name}',
            diff: '@@ -1,1 +1,1 @@\n-Welcome\n+Welcome, ${first_name}',
          },
        ],
      },
    ],
  },
);

export function compareTemplateVersions(deps: { templates: Templates }): Operation {
  return operation(
    {
      id: 'compareTemplateVersions',
      method: 'GET',
      path: '/templates/{key}/compare',
      tag: 'Templates',
      summary: 'Compare template versions',
      description: 'Field by field. Default: the published version and the draft.',
      scope: 'read:templates',
      params: PathKey,
      query: closed({
        from: Type.Optional(VersionParameter),
        to: Type.Optional(VersionParameter),
      }),
      responses: { 200: { description: 'The differences.', body: Comparison } },
      problems: ['not_found'],
    },
    async ({ caller, params: { key }, query }) => {
      const { publishedVersion } = await deps.templates.get(caller, 'template', key);
      const from = parseVersion(query.from) ?? publishedVersion;
      if (from === null) {
        const detail = 'Nothing is published yet. Specify a version to compare with.';
        throw new RefusedError('validation_failed', detail, {
          errors: [{ parameter: 'from', code: 'required', detail }],
        });
      }
      const to = parseVersion(query.to) ?? 'draft';
      const [before, after] = await Promise.all([
        deps.templates.content(caller, 'template', key, from),
        deps.templates.content(caller, 'template', key, to),
      ]);
      const changes = await compare(caller.workspaceId, before, after);
      return { status: 200, body: { key, from, to, changes } };
    },
  );
}

/** Comparing takes time for every line, so large contents are compared in a thread. */
function compare(
  workspaceId: string,
  before: StoredContent,
  after: StoredContent,
): FieldChange[] | Promise<FieldChange[]> {
  const chars = JSON.stringify([before, after]).length;
  if (chars <= SMALL_CONTENT_CHARS_MAX) return compareContents(before, after);
  return runInContentThread(workspaceId, 'compare', { before, after });
}
