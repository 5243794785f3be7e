import { type publicFinding, publicPushResult } from '../../templates/public-template.ts';
import { type PushedTemplate, pushTemplates } from '../../templates/push-templates.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { countOf } from '../format-table.ts';
import { readTemplateFolder, toPushItems } from '../templates/read-template-folder.ts';
import { fileOfPointer, folderOf, rethrowWithFileNames } from '../templates/template-folder.ts';
import { lines, type Piece, Progress, paint, styled } from '../terminal.ts';

export const templatesPush: Command = {
  name: 'templates push',
  summary: 'Update the drafts of a workspace from a directory, all or nothing.',
  details:
    'Everything is validated first, as if published together. With --publish, changed items are ' +
    'published in the same transaction. Items that are not in the directory stay on the server.',
  arguments: [{ name: 'DIR', description: 'A directory written by "templates pull".' }],
  target: 'either',
  options: {
    publish: { description: 'Publish changed items.' },
    note: { value: 'TEXT', description: 'A note stored with the versions.' },
    ...WORKSPACE_OPTION,
  },
  run: async (input) => {
    const [directory = ''] = input.arguments;
    const items = toPushItems(await readTemplateFolder(directory));
    const options = { publish: input.flag('publish'), note: input.option('note') };
    using progress = new Progress({ json: input.flag('json') });
    const { data, where } = await onTarget<{ data: PublicResult[]; where: string }>(input, {
      api: async ({ client, url }) => {
        progress.update(`Pushing ${countOf(items.length, 'item')}…`);
        const body = { ...byKind(items), ...options };
        const response = client.request<{ data: PublicResult[] }>('POST', '/template-drafts', {
          body,
        });
        const { data } = await response.catch(rethrowWithFileNames);
        return { data: inOrderOf(items, data), where: url };
      },
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        progress.update(`Pushing ${countOf(items.length, 'item')}…`);
        const author = { workspaceId: workspace.id, actor: 'cli' };
        const pushed = pushTemplates(parts, author, items, options);
        const results = await pushed.catch(rethrowWithFileNames);
        return { data: results.map(publicPushResult), where: `workspace "${workspace.name}"` };
      },
    });
    const changed = data.filter(isChanged);
    const summary = `${countOf(items.length, 'item')} in ${directory}, ${changed.length} changed in ${where}.`;
    return { data, text: lines([...data.flatMap(linesOf), summary]) };
  },
};

type PublicResult = ReturnType<typeof publicPushResult>;

/** As the API takes them: `{ templates: { welcome: … }, layouts: …, partials: … }`. */
function byKind(items: readonly PushedTemplate[]): Record<string, object> {
  const groups = Map.groupBy(items, ({ kind }) => `${kind}s`);
  return Object.fromEntries(
    [...groups].map(([kinds, group]) => [
      kinds,
      Object.fromEntries(group.map(({ key, fields }) => [key, fields])),
    ]),
  );
}

function inOrderOf(
  items: readonly PushedTemplate[],
  results: readonly PublicResult[],
): PublicResult[] {
  return items.flatMap(({ kind, key }) =>
    results.filter((result) => result.kind === kind && result.key === key),
  );
}

function isChanged({ draft, published_version }: PublicResult): boolean {
  return draft !== 'unchanged' || published_version !== null;
}

function linesOf(result: PublicResult): Piece[] {
  const { draft, published_version, warnings } = result;
  const done =
    published_version === null ? draft : `${draft}, published as version ${published_version}`;
  return [
    ...(isChanged(result) ? [styled`${folderOf(result)}: ${paint('green', done)}`] : []),
    ...warnings.map((warning) => paint('yellow', warningText(result, warning))),
  ];
}

function warningText(
  result: PublicResult,
  { field, line, column, message }: ReturnType<typeof publicFinding>,
): string {
  return `  ${fileOf(result, field)} (line ${line}, column ${column}): ${message}`;
}

function fileOf({ kind, key }: PublicResult, field: string): string {
  // Findings in a surrounding layout or partial keep its name.
  if (/^(?:layouts|partials)\./.test(field)) return field;
  return fileOfPointer(`/${kind}s/${key}/${field.replaceAll('.', '/')}`);
}
