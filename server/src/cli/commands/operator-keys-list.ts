import { OperatorKeys, publicOperatorKey } from '../../accounts/operator-keys.ts';
import type { Command } from '../command.ts';
import { listTime, paintState, table } from '../terminal.ts';
import { withDatabase } from '../with-database.ts';

export const operatorKeysList: Command = {
  name: 'operator-keys list',
  summary: 'List the operator keys, newest first.',
  run: () =>
    withDatabase(async (parts) => {
      const nowMs = parts.clock.now();
      const data = (await new OperatorKeys(parts).list()).map(publicOperatorKey);
      const rows = data.map((key) => [
        key.id,
        paintState(stateOf(key, nowMs)),
        key.token_hint,
        key.last_used_at === null ? 'never' : listTime(key.last_used_at),
        key.name,
      ]);
      const heading = ['ID', 'STATE', 'SECRET', 'LAST USED', 'NAME'];
      return {
        data: { data, next_cursor: null },
        text: rows.length > 0 ? table(heading, rows) : 'No operator keys.',
      };
    }),
};

function stateOf(key: ReturnType<typeof publicOperatorKey>, nowMs: number): string {
  if (key.revoked_at !== null) return 'revoked';
  if (key.expires_at === null) return 'active';
  return Date.parse(key.expires_at) <= nowMs
    ? 'expired'
    : `active until ${key.expires_at.slice(0, 10)}`;
}
