import { publicFinding } from '../../templates/public-template.ts';
import { type PushResult, pushTemplates } from '../../templates/push-templates.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { readTemplateFolder, toPushItems } from '../templates/read-template-folder.ts';
import { fileOfPointer, folderOf, rethrowWithFileNames } from '../templates/template-folder.ts';
import { withDatabase } from '../with-database.ts';

export const templatesPush: Command = {
  name: 'templates push',
  summary: 'Update the drafts of a workspace from a directory, all or nothing.',
  details:
    'Everything is validated first, as if published together. With --publish, changed items are ' +
    'published in the same transaction. Items that are not in the directory stay on the server.',
  arguments: [{ name: 'DIR', description: 'A directory written by "templates pull".' }],
  options: {
    publish: { description: 'Publish changed items.' },
    note: { value: 'TEXT', description: 'A note stored with the versions.' },
    ...WORKSPACE_OPTION,
  },
  run: async (input) => {
    const [directory = ''] = input.arguments;
    const items = toPushItems(await readTemplateFolder(directory));
    return withDatabase(async (parts) => {
      const workspace = await chooseWorkspace(input, parts);
      const author = { workspaceId: workspace.id, actor: 'cli' };
      const options = { publish: input.flag('publish'), note: input.option('note') };
      const results = await pushTemplates(parts, author, items, options).catch(
        rethrowWithFileNames,
      );
      const data = results.map(publicResult);
      const changed = results.filter(
        ({ draft, publishedVersion }) => draft !== 'unchanged' || publishedVersion !== null,
      );
      const summary = `${items.length} items in ${directory}, ${changed.length} changed in workspace "${workspace.name}".`;
      return { data, text: [...results.flatMap(linesOf), summary].join('\n') };
    });
  },
};

function publicResult({ kind, key, draft, publishedVersion, warnings }: PushResult) {
  const publicWarnings = warnings.map(publicFinding);
  return { kind, key, draft, published_version: publishedVersion, warnings: publicWarnings };
}

function linesOf(result: PushResult): string[] {
  const { draft, publishedVersion, warnings } = result;
  const folder = folderOf(result);
  const isNew = draft !== 'unchanged' || publishedVersion !== null;
  const done =
    publishedVersion === null ? draft : `${draft}, published as version ${publishedVersion}`;
  return [
    ...(isNew ? [`${folder}: ${done}`] : []),
    ...warnings.map(
      ({ field, line, column, message }) =>
        `  ${fileOf(result, field)} (line ${line}, column ${column}): ${message}`,
    ),
  ];
}

function fileOf({ kind, key }: PushResult, field: string): string {
  // Findings in a surrounding layout or partial keep its name.
  if (/^(?:layouts|partials)\./.test(field)) return field;
  return fileOfPointer(`/${kind}s/${key}/${field.replaceAll('.', '/')}`);
}
