import { publicApiKey } from '../../accounts/api-keys.ts';
import { onTarget } from '../api/choose-target.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { parseDuration } from '../duration.ts';
import { findApiKey } from '../find-api-key.ts';

export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'Replace the secret of an API key; both work during the grace period.',
  target: 'either',
  arguments: [{ name: 'ID', description: 'The id of the key (key_…).' }],
  options: {
    grace: {
      value: 'DURATION',
      description: 'How long the old secret remains valid (default: 24h).',
    },
    workspace: { ...WORKSPACE_OPTION.workspace, description: 'Search only this workspace.' },
  },
  run: async (input) => {
    const [id = ''] = input.arguments;
    const graceSeconds = parseDuration('grace', input.option('grace') ?? '24h');
    const data = await onTarget<RotatedKey>(input, {
      api: ({ client }) =>
        client.request<RotatedKey>('POST', '/api-keys/{id}/rotate', {
          path: { id },
          body: { grace_seconds: graceSeconds },
        }),
      database: async (parts) => {
        const { apiKeys, issuer, id } = await findApiKey(input, parts);
        const { key, token, previousEndsAtMs } = await apiKeys.rotate(issuer, id, graceSeconds);
        const previous_ends_at = new Date(previousEndsAtMs).toISOString();
        return { ...publicApiKey(key), token, previous_ends_at };
      },
    });
    const text = [
      `Key "${data.name}" (${data.id}) has a new secret, shown only once:`,
      '',
      `  ${data.token}`,
      '',
      `The old secret is valid until ${data.previous_ends_at}.`,
    ].join('\n');
    return { data, text };
  },
};

type RotatedKey = ReturnType<typeof publicApiKey> & { token: string; previous_ends_at: string };
