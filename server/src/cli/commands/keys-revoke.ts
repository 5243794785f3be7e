import { publicApiKey } from '../../accounts/api-keys.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { findKeyAnywhere } from '../find-key-anywhere.ts';
import { withStorage } from '../with-storage.ts';

export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'End an API key for good, on every node within a second.',
  arguments: [{ name: 'ID', says: 'The id of the key: key_….' }],
  options: { workspace: { ...WORKSPACE_OPTION.workspace, says: 'Look for it only there.' } },
  run: (given) =>
    withStorage(async (parts) => {
      const { apiKeys, maker, id } = await findKeyAnywhere(given, parts);
      const data = publicApiKey(await apiKeys.revoke(maker, id));
      return { data, text: `The key "${data.name}" (${data.id}) is revoked.` };
    }),
};
