import path from 'node:path';
import { mkdirp } from '../../lib/mkdirp.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { countOf } from '../format-table.ts';
import { readDrafts } from '../templates/read-drafts.ts';
import { readTemplateFolder } from '../templates/read-template-folder.ts';
import { filesOf, folderOf } from '../templates/template-folder.ts';
import { writeTemplateFolder } from '../templates/write-template-folder.ts';

export const templatesPull: Command = {
  name: 'templates pull',
  summary: 'Write the drafts of all templates, layouts and partials to a directory.',
  details:
    'One subdirectory per key, with template.json, subject.txt, html.liquid, text.liquid and locales/. ' +
    'Files that differ are overwritten; items that are not on the server stay.',
  arguments: [{ name: 'DIR', description: 'The directory; created if missing.' }],
  target: 'either',
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const [directory = ''] = input.arguments;
    const { drafts, where } = await readDrafts(input);
    const wanted = new Map(drafts.flatMap((item) => [...filesOf(item)]));
    await mkdirp(path.resolve(directory));
    const { files: known } = await readTemplateFolder(directory);
    const data = await writeTemplateFolder(directory, wanted, known, drafts.map(folderOf));
    const lines = [
      ...data.written.map((file) => `wrote    ${file}`),
      ...data.removed.map((file) => `removed  ${file}`),
    ];
    const summary = `${countOf(drafts.length, 'item')} in ${where}, ${countOf(lines.length, 'file')} changed.`;
    return { data, text: [...lines, summary].join('\n') };
  },
};
