import { publicApiKey } from '../../accounts/api-keys.ts';
import { WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { parseDuration } from '../duration.ts';
import { findApiKey } from '../find-api-key.ts';
import { withDatabase } from '../with-database.ts';

export const keysRotate: Command = {
  name: 'keys rotate',
  summary: 'Replace the secret of an API key; both work during the grace period.',
  arguments: [{ name: 'ID', description: 'The id of the key (key_…).' }],
  options: {
    grace: {
      value: 'DURATION',
      description: 'How long the old secret remains valid (default: 24h).',
    },
    workspace: { ...WORKSPACE_OPTION.workspace, description: 'Search only this workspace.' },
  },
  run: (input) => {
    const graceSeconds = parseDuration('grace', input.option('grace') ?? '24h');
    return withDatabase(async (parts) => {
      const { apiKeys, issuer, id } = await findApiKey(input, parts);
      const { key, token, previousEndsAtMs } = await apiKeys.rotate(issuer, id, graceSeconds);
      const previousEndsAt = new Date(previousEndsAtMs).toISOString();
      const data = { ...publicApiKey(key), token, previous_ends_at: previousEndsAt };
      const text = [
        `Key "${data.name}" (${data.id}) has a new secret, shown only once:`,
        '',
        `  ${token}`,
        '',
        `The old secret is valid until ${previousEndsAt}.`,
      ].join('\n');
      return { data, text };
    });
  },
};
