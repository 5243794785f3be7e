import { Workspaces } from '../../accounts/workspaces.ts';
import { moveEnvironment } from '../../config/env.ts';
import { StorageStartError } from '../../db/connections/database-errors.ts';
import { SCHEMA_NAME } from '../../db/connections/database-url.ts';
import { openStorage } from '../../db/open-storage.ts';
import { migrate } from '../../db/schema/migrate.ts';
import { ensurePartitions } from '../../db/schema/partitions.ts';
import { verifySecretKey } from '../../db/verify-secret-key.ts';
import { encodeId } from '../../lib/ids.ts';
import { silentLog } from '../../lib/log.ts';
import type { Clock } from '../../lib/time/clock.ts';
import {
  type MoveStep,
  WorkspaceMove,
  type WorkspaceMoveParts,
} from '../../privacy/workspace-move.ts';
import { findWorkspace } from '../choose-workspace.ts';
import { type Command, UsageError } from '../command.ts';
import type { DatabaseContext } from '../command-context.ts';
import { withDatabase } from '../with-database.ts';

export const workspacesMove: Command = {
  name: 'workspaces move',
  summary: 'Move a workspace to another database.',
  details:
    'Set MOVE_TO_DATABASE_URL to the other database, and MOVE_TO_DATABASE_SCHEMA to a schema in it. Both installations need the same release and SECRET_KEY, and their servers can keep running. The command copies the history, closes the workspace here, copies what has changed, verifies the copy, and makes the workspace active in the other database. While it is closed, requests for it get 503 with Retry-After, and SMTP clients a temporary error; other workspaces are not affected. An interrupted command can be repeated at any time. Former members who sign in here, and clients that still use their API key here, get the address of the other installation, for 90 days. A workspace with contents in the content archive cannot be moved until they have expired. Sessions do not move, and passkeys move only between installations with the same host name.',
  arguments: [{ name: 'WORKSPACE', description: 'The id (wsp_…) or name.' }],
  options: {
    'copy-only': {
      description:
        'Only copy the history. The workspace stays open here, and moving it later takes less time.',
    },
    url: {
      value: 'URL',
      description:
        'The public URL of the other installation, for members and clients. By default BASE_URL of its servers.',
    },
    cancel: { description: 'Cancel a move that has not finished. The workspace stays here.' },
  },
  run: (input) =>
    withDatabase(async (parts) => {
      const found = await findWorkspace(new Workspaces(parts), input.arguments[0] as string);
      const id = encodeId('wsp', found.id);
      const targetUrl = parseTargetUrl(input.option('url'));
      await using target = await openTarget(parts);
      const { pool: source, clock } = parts;
      const move = new WorkspaceMove(
        { source, target: target.pool, clock, targetUrl, ...progressOn(clock) },
        found.id,
      );
      if (input.flag('cancel')) {
        await move.cancel();
        return {
          data: { id, state: 'cancelled' },
          text: `Workspace "${found.name}" (${id}) stays in this database.`,
        };
      }
      const { state, rows } = await move.run({ copyOnly: input.flag('copy-only') });
      const count = Object.values(rows).reduce((sum, n) => sum + n, 0);
      const text =
        state === 'moved'
          ? `Workspace "${found.name}" (${id}) has moved with ${count} rows. The copy in this database is being deleted.`
          : `The history of workspace "${found.name}" (${id}) has been copied: ${count} rows. Run the command again without --copy-only to move it.`;
      return { data: { id, state, rows }, text };
    }),
};

function parseTargetUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url?.pathname === '/' && !url.search && !url.hash && !url.username;
  if (url && isOrigin && /^https?:$/.test(url.protocol)) return url.origin;
  throw new UsageError('--url must be an http or https URL without a path.');
}

async function openTarget({ config, secretKey, clock }: DatabaseContext) {
  const { databaseUrl, schema } = moveEnvironment();
  if (databaseUrl === undefined) {
    throw new UsageError('Set MOVE_TO_DATABASE_URL to the database that the workspace moves to.');
  }
  if (schema !== undefined && !SCHEMA_NAME.test(schema)) {
    throw new UsageError('MOVE_TO_DATABASE_SCHEMA is not a valid schema name.');
  }
  const target = await openStorage({
    ...config.storage,
    databaseUrl,
    schema,
    connectionsMax: CONNECTIONS_MAX,
    secretKey,
    log: silentLog,
    holder: 'command',
  }).catch((error: Error) => {
    if (!(error instanceof StorageStartError)) throw error;
    throw new StorageStartError(error.message.replaceAll('DATABASE_URL', 'MOVE_TO_DATABASE_URL'));
  });
  try {
    await migrate(target.pool, silentLog);
    await verifySecretKey(target.pool, secretKey, { allowOther: false }).catch((error) => {
      throw error instanceof StorageStartError ? new StorageStartError(OTHER_KEY) : error;
    });
    await ensurePartitions(target.pool, clock.now());
    return target;
  } catch (error) {
    await target.stop();
    throw error;
  }
}

const CONNECTIONS_MAX = 4;

const OTHER_KEY =
  'The database at MOVE_TO_DATABASE_URL has a different SECRET_KEY, with which the secrets of the workspace could not be decrypted. A workspace can only move between installations with the same key.';

const STEPS: Partial<Record<MoveStep, string>> = {
  arriving: 'Copying the history.',
  copied: 'The history is copied.',
  drained: 'Attempts in progress have ended.',
  leaving: 'The workspace is closed here.',
  fenced: 'Copying what has changed, and comparing both copies.',
  verified: 'Both copies are equal.',
  activated: 'The workspace is active in the other database.',
};

const PROGRESS_INTERVAL_MS = 5_000;

/** A move may take hours. Written to standard error, like everything that is not the result. */
function progressOn(clock: Clock): Pick<WorkspaceMoveParts, 'onStep' | 'onProgress'> {
  let writtenAtMs = clock.now();
  return {
    onStep: (step) => {
      const text = STEPS[step];
      if (text !== undefined) process.stderr.write(`${text}\n`);
    },
    onProgress: (table, rows) => {
      if (clock.now() - writtenAtMs < PROGRESS_INTERVAL_MS) return;
      writtenAtMs = clock.now();
      process.stderr.write(`${table}: ${rows} rows\n`);
    },
  };
}
