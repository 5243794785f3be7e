import type { ApiKey } from '../../accounts/api-key-store.ts';
import { ApiKeys, operatorIssuer, publicApiKey } from '../../accounts/api-keys.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { collect } from '../api/api-client.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { listTime, paintState, table } from '../terminal.ts';

const PAGE = 100;

export const keysList: Command = {
  name: 'keys list',
  summary: 'List the API keys of a workspace, newest first.',
  target: 'either',
  options: WORKSPACE_OPTION,
  run: async (input) => {
    const data = await onTarget<PublicKey[]>(input, {
      api: ({ client }) => collect(client.all<PublicKey>('/api-keys', { query: { limit: PAGE } })),
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        return (await allKeys(new ApiKeys(parts), workspace.id)).map(publicApiKey);
      },
    });
    const rows = data.map((key) => [
      key.id,
      key.mode,
      paintState(stateOf(key, systemClock.now())),
      key.token_hint,
      key.last_used_at === null ? 'never' : listTime(key.last_used_at),
      key.name,
    ]);
    const heading = ['ID', 'MODE', 'STATE', 'SECRET', 'LAST USED', 'NAME'];
    return {
      data: { data, next_cursor: null },
      text: rows.length > 0 ? table(heading, rows) : 'No API keys.',
    };
  },
};

type PublicKey = ReturnType<typeof publicApiKey>;

async function allKeys(apiKeys: ApiKeys, workspaceId: string): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  for (let before: string | undefined; ; ) {
    const page = { limit: PAGE, ...(before === undefined ? {} : { before }) };
    const found = await apiKeys.list(operatorIssuer(workspaceId), page);
    keys.push(...found.keys);
    before = found.nextBefore;
    if (before === undefined) return keys;
  }
}

function stateOf(key: PublicKey, nowMs: number): string {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) <= nowMs
    ? 'expired'
    : `active until ${key.expires_at.slice(0, 10)}`;
}
