import { unifiedDiff } from '../../templates/line-diff.ts';
import { type PushedTemplate, parsePushed } from '../../templates/push-templates.ts';
import { readAllTemplates } from '../../templates/template-store.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { type Files, filesOf } from '../templates/folder-format.ts';
import { namingFiles } from '../templates/naming-files.ts';
import { pushedOf, readFolder } from '../templates/read-folder.ts';
import { withStorage } from '../with-storage.ts';

export const templatesDiff: Command = {
  name: 'templates diff',
  summary: 'Show how a folder differs from the drafts on the server.',
  details:
    'Lines with - are on the server, lines with + in the folder. Exit code 1 when they differ.',
  arguments: [{ name: 'DIR', says: 'The folder, as "templates pull" writes it.' }],
  options: WORKSPACE_OPTION,
  run: async (given) => {
    const [directory = ''] = given.arguments;
    const here = filesOfAll(pushedOf(await readFolder(directory)));
    return withStorage(async (parts) => {
      const workspace = await chooseWorkspace(given, parts);
      const all = await readAllTemplates(parts.pool, workspace.id);
      const there = new Map(all.flatMap((one) => [...filesOf({ ...one, content: one.draft })]));
      const data = [...new Set([...there.keys(), ...here.keys()])].sort().flatMap((file) => {
        const [before, after] = [there.get(file), here.get(file)];
        if (before === after) return [];
        const state =
          before === undefined ? 'only_here' : after === undefined ? 'only_there' : 'differs';
        return [{ file, state, diff: unifiedDiff(before ?? '', after ?? '') }];
      });
      const text = data.map(({ file, diff }) => `--- server/${file}\n+++ here/${file}\n${diff}`);
      return {
        data,
        text: data.length === 0 ? 'No difference.' : text.join('\n'),
        exitCode: data.length === 0 ? 0 : 1,
      };
    });
  },
};

/** As they would be written: other spaces in a JSON file make no difference. */
function filesOfAll(items: readonly PushedTemplate[]): Files {
  try {
    return new Map(parsePushed(items).flatMap((item) => [...filesOf(item)]));
  } catch (error) {
    return namingFiles(error);
  }
}
