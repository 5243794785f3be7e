import { configFromEnvironment } from '../../config/env.ts';
import { databaseLabel, findTarget } from '../api/choose-target.ts';
import { currentKey, describeKey } from '../api/current-key.ts';
import { loginFile } from '../api/stored-login.ts';
import type { Command } from '../command.ts';
import { lines } from '../terminal.ts';

export const whoami: Command = {
  name: 'whoami',
  summary: 'Show which server or database commands use, and with which API key.',
  run: async () => {
    const target = await findTarget(false);
    if (target === undefined) {
      const location = databaseLabel(configFromEnvironment().storage);
      return {
        data: { target: 'database', location },
        text: `Commands use the ${location}. Run "postrider login URL" to use a server over HTTP.`,
      };
    }
    const { url, source } = target;
    const key = await currentKey(target);
    const from = source === 'login' ? loginFile() : 'POSTRIDER_URL and POSTRIDER_API_KEY';
    return {
      data: { target: 'api', url, source, key },
      text: lines([`Server: ${url} (from ${from})`, ...describeKey(key)]),
    };
  },
};
