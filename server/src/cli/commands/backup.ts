import { configFromEnvironment } from '../../config/env.ts';
import { backUp } from '../../db/embedded/back-up.ts';
import { startEmbedded } from '../../db/embedded-postgres.ts';
import { StorageStartError } from '../../db/start-error.ts';
import { systemClock } from '../../lib/clock.ts';
import { silentLog } from '../../lib/log.ts';
import type { Command } from '../command.ts';
import { whileOpen } from '../while-open.ts';

export const backup: Command = {
  name: 'backup',
  summary: 'Copy the whole data folder, also while a server runs on it.',
  details:
    'The copy holds everything that was committed when the command began, and secret.key: keep it as ' +
    'safe as the original. It is a data folder like any other, so DATA_DIR=FOLDER starts from it. ' +
    'Mail that waited then and has left since would leave again.',
  arguments: [{ name: 'FOLDER', says: 'Where the copy goes. It is made, or empty.' }],
  run: async (given) => {
    const config = configFromEnvironment();
    if (config.storage.databaseUrl !== undefined) {
      throw new StorageStartError(
        'The database at DATABASE_URL is backed up with its own tools, such as pg_dump. Keep SECRET_KEY with it.',
      );
    }
    const [target = ''] = given.arguments;
    const beganAtMs = systemClock.now();
    const { dataDir } = config.storage;
    // PostgreSQL alone. Without migrations: a backup before an upgrade must be what was there before
    // it. And without the secret key: one that is made here, where the operator's own is in SECRET_KEY
    // and this shell does not have it, would pass for the right one in the copy.
    const data = await whileOpen(
      () => startEmbedded({ dataDir, log: silentLog, holder: 'command' }),
      ({ connection }, leaving) => backUp({ connection, dataDir, target, leaving }),
    );
    const seconds = (systemClock.now() - beganAtMs) / 1000;
    const text = [
      `Backed up to ${data.folder}: ${(data.bytes / 2 ** 20).toFixed(1)} MiB in ${seconds.toFixed(1)} s.`,
      `Start from it with DATA_DIR=${data.folder}; better, from a copy of it.`,
      ...(data.secret_key ? [] : ['There is no secret.key in it: keep SECRET_KEY with it.']),
    ];
    return { data, text: text.join('\n') };
  },
};
