import path from 'node:path';
import { mkdirp } from '../../lib/mkdirp.ts';
import { readAllTemplates } from '../../templates/template-store.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { filesOf, folderOf } from '../templates/folder-format.ts';
import { readFolder } from '../templates/read-folder.ts';
import { writeFolder } from '../templates/write-folder.ts';
import { withStorage } from '../with-storage.ts';

export const templatesPull: Command = {
  name: 'templates pull',
  summary: 'Write the drafts of all templates, layouts and partials into a folder.',
  details:
    'One folder a key, with template.json, subject.txt, html.liquid, text.liquid and locales/. Files ' +
    'that differ are overwritten; what the server does not have stays.',
  arguments: [{ name: 'DIR', says: 'The folder; it is made when it is not there.' }],
  options: WORKSPACE_OPTION,
  run: (given) =>
    withStorage(async (parts) => {
      const [directory = ''] = given.arguments;
      const workspace = await chooseWorkspace(given, parts);
      const all = await readAllTemplates(parts.pool, workspace.id);
      const items = all.map((one) => ({ ...one, content: one.draft }));
      const wanted = new Map(items.flatMap((item) => [...filesOf(item)]));
      await mkdirp(path.resolve(directory));
      const { files: known } = await readFolder(directory);
      const data = await writeFolder(directory, wanted, known, items.map(folderOf));
      const lines = [
        ...data.written.map((file) => `wrote    ${file}`),
        ...data.removed.map((file) => `removed  ${file}`),
      ];
      const summary = `${items.length} in the workspace "${workspace.name}", ${lines.length} files changed here.`;
      return { data, text: [...lines, summary].join('\n') };
    }),
};
