import type { ApiKey } from '../../accounts/api-key-store.ts';
import { ApiKeys, operatorIssuer, publicApiKey } from '../../accounts/api-keys.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import type { Command } from '../command.ts';
import { formatTable } from '../format-table.ts';
import { withDatabase } from '../with-database.ts';

const PAGE = 100;

export const keysList: Command = {
  name: 'keys list',
  summary: 'List the API keys of a workspace, newest first.',
  options: WORKSPACE_OPTION,
  run: (input) =>
    withDatabase(async (parts) => {
      const workspace = await chooseWorkspace(input, parts);
      const keys = await allKeys(new ApiKeys(parts), workspace.id);
      const data = keys.map(publicApiKey);
      const rows = data.map((key) => [
        key.id,
        key.mode,
        stateOf(key, parts.clock.now()),
        key.token_hint,
        key.last_used_at ?? 'never',
        key.name,
      ]);
      const heading = ['ID', 'MODE', 'STATE', 'SECRET', 'LAST USED', 'NAME'];
      return {
        data: { data, next_cursor: null },
        text: rows.length > 0 ? formatTable([heading, ...rows]) : 'No API keys.',
      };
    }),
};

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

function stateOf(key: ReturnType<typeof publicApiKey>, nowMs: number): string {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) <= nowMs ? 'expired' : `until ${key.expires_at.slice(0, 10)}`;
}
