import { publicApiKey } from '../../accounts/api-keys.ts';
import { type ApiTarget, onTarget } from '../api/choose-target.ts';
import { currentKey } from '../api/current-key.ts';
import { writeLogin } from '../api/stored-login.ts';
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
    let note = '';
    const data = await onTarget<RotatedKey>(input, {
      api: async (target) => {
        const isOwn = (await currentKey(target)).id === id;
        const rotated = await target.client.request<RotatedKey>('POST', '/api-keys/{id}/rotate', {
          path: { id },
          body: { grace_seconds: graceSeconds },
        });
        if (isOwn) note = await keepOwnKey(target, rotated.token);
        return rotated;
      },
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
      ...(note === '' ? [] : [note]),
    ].join('\n');
    return { data, text };
  },
};

/** The key that calls was rotated: a login continues with the new secret. Returns what to tell. */
async function keepOwnKey({ source, url }: ApiTarget, apiKey: string): Promise<string> {
  if (source === 'environment') return 'Set POSTRIDER_API_KEY to the new secret.';
  try {
    await writeLogin({ url, apiKey });
    return 'The login uses the new secret from now on.';
  } catch (error) {
    // The secret is shown only here, so it must be shown whatever happens.
    return `The login could not be updated (${(error as Error).message}). Run "postrider login" with the new secret.`;
  }
}

type RotatedKey = ReturnType<typeof publicApiKey> & { token: string; previous_ends_at: string };
