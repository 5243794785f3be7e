import { publicApiKey } from '../../accounts/api-keys.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { findKeyAnywhere } from '../find-key-anywhere.ts';
import { spanSeconds } from '../span.ts';
import { withStorage } from '../with-storage.ts';

export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'Give an API key a new secret; both work during the grace period.',
  arguments: [{ name: 'ID', says: 'The id of the key: key_….' }],
  options: {
    grace: { takes: 'SPAN', says: 'How long the old secret goes on working; 24h when absent.' },
    workspace: { ...WORKSPACE_OPTION.workspace, says: 'Look for it only there.' },
  },
  run: (given) => {
    const graceSeconds = spanSeconds('grace', given.option('grace') ?? '24h');
    return withStorage(async (parts) => {
      const { apiKeys, maker, id } = await findKeyAnywhere(given, parts);
      const { key, token, previousEndsAtMs } = await apiKeys.rotate(maker, id, graceSeconds);
      const previousEndsAt = new Date(previousEndsAtMs).toISOString();
      const data = { ...publicApiKey(key), token, previous_ends_at: previousEndsAt };
      const text = [
        `The key "${data.name}" (${data.id}) has a new secret, shown this once:`,
        '',
        `  ${token}`,
        '',
        `The old one works until ${previousEndsAt}.`,
      ].join('\n');
      return { data, text };
    });
  },
};
