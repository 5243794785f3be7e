import { OperatorKeys, publicOperatorKey } from '../../accounts/operator-keys.ts';
import { type Command, listOption, UsageError } from '../command.ts';
import { parseTimeOrDuration } from '../duration.ts';
import { noteServer } from '../running-command.ts';
import { withDatabase } from '../with-database.ts';

const NAME_LENGTH_MAX = 100;

export const operatorKeysCreate: Command = {
  name: 'operator-keys create',
  summary: 'Create an operator key; its secret is shown once.',
  details:
    'An operator key manages all workspaces with the operations under /api/v1/operator: it creates, limits, suspends and deletes them, and creates their API keys. It cannot send or read mail, but the API keys that it creates can, so keep it as safe as access to the server.',
  arguments: [{ name: 'NAME', description: 'What the key is for.' }],
  options: {
    expires: {
      value: 'DURATION|TIME',
      description: 'When it expires: 90d, or 2027-01-31T00:00:00Z.',
    },
    'allowed-ips': {
      value: 'LIST',
      description: 'Comma-separated addresses or networks that may use the key.',
    },
  },
  run: (input) => {
    const name = (input.arguments[0] ?? '').trim();
    if (name === '' || name.length > NAME_LENGTH_MAX || /\p{Cc}/u.test(name)) {
      throw new UsageError(`NAME must have 1 to ${NAME_LENGTH_MAX} printable characters.`);
    }
    const expires = input.option('expires');
    const allowedIps = listOption(input, 'allowed-ips');
    return withDatabase(async (parts) => {
      await noteServer();
      const { key, token } = await new OperatorKeys(parts).create({
        name,
        ...(allowedIps ? { allowed_ips: allowedIps } : {}),
        ...(expires === undefined
          ? {}
          : { expires_at: parseTimeOrDuration('expires', expires, parts.clock.now()) }),
      });
      const data = { ...publicOperatorKey(key), token };
      const text = [
        `Created operator key "${data.name}" (${data.id}).`,
        'The secret is shown only once:',
        '',
        `  ${token}`,
      ].join('\n');
      return { data, text };
    });
  },
};
