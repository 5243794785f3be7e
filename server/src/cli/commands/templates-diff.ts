import { type PushedTemplate, parsePushed } from '../../templates/push-templates.ts';
import { readAllTemplates } from '../../templates/template-store.ts';
import { unifiedDiff } from '../../templates/unified-diff.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { readTemplateFolder, toPushItems } from '../templates/read-template-folder.ts';
import { type Files, filesOf, rethrowWithFileNames } from '../templates/template-folder.ts';
import { withDatabase } from '../with-database.ts';

export const templatesDiff: Command = {
  name: 'templates diff',
  summary: 'Compare a directory with the drafts on the server.',
  details:
    'Lines with - are on the server, lines with + in the directory. Exits with 1 if they differ.',
  arguments: [{ name: 'DIR', description: 'A directory written by "templates pull".' }],
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const [directory = ''] = input.arguments;
    const local = filesOfAll(toPushItems(await readTemplateFolder(directory)));
    return withDatabase(async (parts) => {
      const workspace = await chooseWorkspace(input, parts);
      const all = await readAllTemplates(parts.pool, workspace.id);
      const remote = new Map(all.flatMap((one) => [...filesOf({ ...one, content: one.draft })]));
      const data = [...new Set([...remote.keys(), ...local.keys()])].sort().flatMap((file) => {
        const [before, after] = [remote.get(file), local.get(file)];
        if (before === after) return [];
        const state =
          before === undefined ? 'only_local' : after === undefined ? 'only_remote' : 'differs';
        return [{ file, state, diff: unifiedDiff(before ?? '', after ?? '') }];
      });
      const text = data.map(({ file, diff }) => `--- server/${file}\n+++ local/${file}\n${diff}`);
      return {
        data,
        text: data.length === 0 ? 'No differences.' : text.join('\n'),
        exitCode: data.length === 0 ? 0 : 1,
      };
    });
  },
};

/** Normalized as pull would write them, so that JSON formatting makes no difference. */
function filesOfAll(items: readonly PushedTemplate[]): Files {
  try {
    return new Map(parsePushed(items).flatMap((item) => [...filesOf(item)]));
  } catch (error) {
    return rethrowWithFileNames(error);
  }
}
