import { publicFinding } from '../../templates/public-template.ts';
import { type PushResult, pushTemplates } from '../../templates/push-templates.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { fileOfPointer, folderOf } from '../templates/folder-format.ts';
import { namingFiles } from '../templates/naming-files.ts';
import { pushedOf, readFolder } from '../templates/read-folder.ts';
import { withStorage } from '../with-storage.ts';

export const templatesPush: Command = {
  name: 'templates push',
  summary: 'Make the drafts of a workspace what lies in a folder: all of it, or on any error none.',
  details:
    'Everything is checked first, as if it were published together. With --publish what changed is ' +
    'published in the same commit. What the folder does not have stays on the server.',
  arguments: [{ name: 'DIR', says: 'The folder, as "templates pull" writes it.' }],
  options: {
    publish: { says: 'Publish what changed.' },
    note: { takes: 'TEXT', says: 'Why, kept with the versions.' },
    ...WORKSPACE_OPTION,
  },
  run: async (given) => {
    const [directory = ''] = given.arguments;
    const items = pushedOf(await readFolder(directory));
    return withStorage(async (parts) => {
      const workspace = await chooseWorkspace(given, parts);
      const author = { workspaceId: workspace.id, actor: 'cli' };
      const options = { publish: given.flag('publish'), note: given.option('note') };
      const results = await pushTemplates(parts, author, items, options).catch(namingFiles);
      const data = results.map(publicResult);
      const changed = results.filter(
        ({ draft, publishedVersion }) => draft !== 'unchanged' || publishedVersion !== null,
      );
      const summary = `${items.length} in ${directory}, ${changed.length} changed in the workspace "${workspace.name}".`;
      return { data, text: [...results.flatMap(linesOf), summary].join('\n') };
    });
  },
};

function publicResult({ kind, key, draft, publishedVersion, warnings }: PushResult) {
  const told = warnings.map(publicFinding);
  return { kind, key, draft, published_version: publishedVersion, warnings: told };
}

function linesOf(result: PushResult): string[] {
  const { draft, publishedVersion, warnings } = result;
  const folder = folderOf(result);
  const isNew = draft !== 'unchanged' || publishedVersion !== null;
  const done = publishedVersion === null ? draft : `${draft}, published as ${publishedVersion}`;
  return [
    ...(isNew ? [`${folder}: ${done}`] : []),
    ...warnings.map(
      ({ field, line, column, message }) =>
        `  ${fileOf(result, field)} (line ${line}, column ${column}): ${message}`,
    ),
  ];
}

function fileOf({ kind, key }: PushResult, field: string): string {
  // What a layout or partial around it has is named by that.
  if (/^(?:layouts|partials)\./.test(field)) return field;
  return fileOfPointer(`/${kind}s/${key}/${field.replaceAll('.', '/')}`);
}
