import { configFromEnvironment } from '../../config/env.ts';
import { StorageStartError } from '../../db/connections/database-errors.ts';
import { createBaseBackup } from '../../db/embedded/base-backup.ts';
import { startEmbedded } from '../../db/embedded/embedded-postgres.ts';
import { silentLog } from '../../lib/log.ts';
import { systemClock } from '../../lib/time/clock.ts';
import type { Command } from '../command.ts';
import { requireDatabase, withInterruptible } from '../with-database.ts';

export const backup: Command = {
  name: 'backup',
  summary: 'Back up the data directory, even while a server is running.',
  details:
    'The backup contains everything committed when the command started, and secret.key: keep it as ' +
    'safe as the original. It is a regular data directory; start from it with DATA_DIR=DIR. ' +
    'Mail that was queued then and has been sent since would be sent again.',
  arguments: [{ name: 'DIR', description: 'The target directory: empty, or created.' }],
  run: async (input) => {
    const config = configFromEnvironment();
    if (config.storage.databaseUrl !== undefined) {
      throw new StorageStartError(
        'The database at DATABASE_URL must be backed up with its own tools, such as pg_dump. Keep SECRET_KEY with the backup.',
      );
    }
    requireDatabase(config.storage);
    const [target = ''] = input.arguments;
    const beganAtMs = systemClock.now();
    const { dataDir } = config.storage;
    // Starts PostgreSQL only. Migrations are not applied, because a backup before an upgrade must
    // match the state before it. The secret key is not created: if the operator keeps it in
    // SECRET_KEY, which this shell may not have, a new one would look like the right one in the
    // backup.
    const data = await withInterruptible(
      () => startEmbedded({ dataDir, log: silentLog, holder: 'command' }),
      ({ connection }, leaving) =>
        createBaseBackup({ connection, dataDir, target, signal: leaving }),
    );
    const seconds = (systemClock.now() - beganAtMs) / 1000;
    const text = [
      `Backed up to ${data.folder}: ${(data.bytes / 2 ** 20).toFixed(1)} MiB in ${seconds.toFixed(1)} s.`,
      `To restore, start with DATA_DIR=${data.folder}, or better a copy of it.`,
      ...(data.secret_key ? [] : ['It does not contain secret.key: keep SECRET_KEY with it.']),
    ];
    return { data, text: text.join('\n') };
  },
};
