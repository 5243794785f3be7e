import { unifiedDiff } from '../../templates/content/unified-diff.ts';
import { type PushedTemplate, parsePushed } from '../../templates/push-templates.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { readDrafts } from '../templates/read-drafts.ts';
import { readTemplateFolder, toPushItems } from '../templates/read-template-folder.ts';
import { type Files, filesOf, rethrowWithFileNames } from '../templates/template-folder.ts';
import { lines, type Piece, paint } from '../terminal.ts';

export const templatesDiff: Command = {
  name: 'templates diff',
  summary: 'Compare a directory with the drafts on the server.',
  details:
    'Lines with - are on the server, lines with + in the directory. Exits with 1 if they differ.',
  arguments: [{ name: 'DIR', description: 'A directory written by "templates pull".' }],
  target: 'either',
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const [directory = ''] = input.arguments;
    const local = filesOfAll(toPushItems(await readTemplateFolder(directory)));
    const { drafts } = await readDrafts(input);
    const remote = new Map(drafts.flatMap((one) => [...filesOf(one)]));
    const data = [...new Set([...remote.keys(), ...local.keys()])].sort().flatMap((file) => {
      const [before, after] = [remote.get(file), local.get(file)];
      if (before === after) return [];
      const state =
        before === undefined ? 'only_local' : after === undefined ? 'only_remote' : 'differs';
      return [{ file, state, diff: unifiedDiff(before ?? '', after ?? '') }];
    });
    const text = data.flatMap(({ file, diff }) => [
      paint('bold', `--- server/${file}`),
      paint('bold', `+++ local/${file}`),
      ...diff.split('\n').map(paintDiffLine),
    ]);
    return {
      data,
      text: data.length === 0 ? 'No differences.' : lines(text),
      exitCode: data.length === 0 ? 0 : 1,
    };
  },
};

function paintDiffLine(line: string): Piece {
  if (line.startsWith('+')) return paint('green', line);
  return line.startsWith('-') ? paint('red', line) : line;
}

/** Normalized as pull would write them, so that JSON formatting makes no difference. */
function filesOfAll(items: readonly PushedTemplate[]): Files {
  try {
    return new Map(parsePushed(items).flatMap((item) => [...filesOf(item)]));
  } catch (error) {
    return rethrowWithFileNames(error);
  }
}
