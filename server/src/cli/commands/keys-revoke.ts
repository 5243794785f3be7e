import { publicApiKey } from '../../accounts/api-keys.ts';
import { onTarget } from '../api/choose-target.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { findApiKey } from '../find-api-key.ts';

export const keysRevoke: Command = {
  name: 'keys revoke',
  summary: 'Revoke an API key permanently, on every node within a second.',
  target: 'either',
  arguments: [{ name: 'ID', description: 'The id of the key (key_…).' }],
  options: {
    workspace: { ...WORKSPACE_OPTION.workspace, description: 'Search only this workspace.' },
  },
  run: async (input) => {
    const [id = ''] = input.arguments;
    const data = await onTarget<ReturnType<typeof publicApiKey>>(input, {
      api: ({ client }) => client.request('DELETE', '/api-keys/{id}', { path: { id } }),
      database: async (parts) => {
        const { apiKeys, issuer, id } = await findApiKey(input, parts);
        return publicApiKey(await apiKeys.revoke(issuer, id));
      },
    });
    return { data, text: `Revoked key "${data.name}" (${data.id}).` };
  },
};
