import { OperatorKeys, publicOperatorKey } from '../../accounts/operator-keys.ts';
import { decodeId } from '../../lib/ids.ts';
import { RefusedError } from '../../lib/refused-error.ts';
import type { Command } from '../command.ts';
import { noteServer } from '../running-command.ts';
import { withDatabase } from '../with-database.ts';

export const operatorKeysRevoke: Command = {
  name: 'operator-keys revoke',
  summary: 'Revoke an operator key permanently, on every node at once.',
  arguments: [{ name: 'ID', description: 'The id of the key (opk_…).' }],
  run: (input) =>
    withDatabase(async (parts) => {
      const text = input.arguments[0] ?? '';
      const id = decodeId('opk', text);
      if (id === undefined) {
        const detail = `Operator key "${text}" not found. Run "postrider operator-keys list" to see the ids.`;
        throw new RefusedError('not_found', detail);
      }
      await noteServer();
      const data = publicOperatorKey(await new OperatorKeys(parts).revoke(id));
      return { data, text: `Revoked operator key "${data.name}" (${data.id}).` };
    }),
};
