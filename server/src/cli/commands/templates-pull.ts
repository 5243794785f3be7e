import path from 'node:path';
import { mkdirp } from '../../lib/mkdirp.ts';
import { readAllTemplates } from '../../templates/template-store.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { readTemplateFolder } from '../templates/read-template-folder.ts';
import { filesOf, folderOf } from '../templates/template-folder.ts';
import { writeTemplateFolder } from '../templates/write-template-folder.ts';
import { withDatabase } from '../with-database.ts';

export const templatesPull: Command = {
  name: 'templates pull',
  summary: 'Write the drafts of all templates, layouts and partials to a directory.',
  details:
    'One subdirectory per key, with template.json, subject.txt, html.liquid, text.liquid and locales/. ' +
    'Files that differ are overwritten; items that are not on the server stay.',
  arguments: [{ name: 'DIR', description: 'The directory; created if missing.' }],
  options: WORKSPACE_OPTION,
  run: (input) =>
    withDatabase(async (parts) => {
      const [directory = ''] = input.arguments;
      const workspace = await chooseWorkspace(input, parts);
      const all = await readAllTemplates(parts.pool, workspace.id);
      const items = all.map((one) => ({ ...one, content: one.draft }));
      const wanted = new Map(items.flatMap((item) => [...filesOf(item)]));
      await mkdirp(path.resolve(directory));
      const { files: known } = await readTemplateFolder(directory);
      const data = await writeTemplateFolder(directory, wanted, known, items.map(folderOf));
      const lines = [
        ...data.written.map((file) => `wrote    ${file}`),
        ...data.removed.map((file) => `removed  ${file}`),
      ];
      const summary = `${items.length} items in workspace "${workspace.name}", ${lines.length} files changed.`;
      return { data, text: [...lines, summary].join('\n') };
    }),
};
