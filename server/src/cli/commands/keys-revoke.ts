import { publicApiKey } from '../../accounts/api-keys.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { findApiKey } from '../find-api-key.ts';
import { withDatabase } from '../with-database.ts';

export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'Revoke an API key permanently, on every node within a second.',
  arguments: [{ name: 'ID', description: 'The id of the key (key_…).' }],
  options: {
    workspace: { ...WORKSPACE_OPTION.workspace, description: 'Search only this workspace.' },
  },
  run: (input) =>
    withDatabase(async (parts) => {
      const { apiKeys, issuer, id } = await findApiKey(input, parts);
      const data = publicApiKey(await apiKeys.revoke(issuer, id));
      return { data, text: `Revoked key "${data.name}" (${data.id}).` };
    }),
};
