import { execFile } from 'node:child_process';
import { chmod, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { StorageStartError } from '../start-error.ts';
import type { Binaries } from './binaries.ts';

/**
 * PostgreSQL refuses to run as root, and containers, CI and many servers are root. Four ways, the
 * first that works: as ourselves when we are not root; in a user namespace, where root's files look
 * like another user's and no ownership changes, so it works under folders that only root may enter;
 * as another user who keeps the right to pass closed folders on the way to the data; as another user,
 * plainly.
 */
export interface RunAs {
  way: Way;
  /** Who owns the data folder on the disk. */
  uid: number;
  gid: number;
  /** Who must own it while initdb runs, which insists on an account that has a name. */
  initdbUid: number;
  initdbGid: number;
  command(program: string, args: readonly string[], forInitdb?: boolean): Command;
}

export interface Command {
  file: string;
  args: string[];
  ids: { uid?: number; gid?: number };
}

export type Way = 'ourselves' | 'namespace' | 'capability' | 'other-user';

export const WAYS_OF_ROOT: readonly Way[] = ['namespace', 'capability', 'other-user'];

/** What PostgreSQL gets of our environment: nothing, and least of all our secrets. */
export const CHILD_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** Nobody's on any system we know; used where no account named postgres exists. */
const FREE_UID = 54_320;
/** What the kernel shows for users that a namespace does not map. */
const OVERFLOW_UID = 65_534;

const run = promisify(execFile);

export async function chooseRunAs(
  binaries: Binaries,
  dataDir: string,
  ways: readonly Way[] = WAYS_OF_ROOT,
): Promise<RunAs> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) return asOurselves(uid, process.getgid?.() ?? 0);
  const accounts = await namedAccounts();
  const refusals: string[] = [];
  for (const way of ways) {
    const runAs = rootWay(way, accounts);
    const refusal = await tryOut(runAs, binaries, dataDir);
    if (refusal === undefined) return runAs;
    refusals.push(`${way}: ${refusal}`);
  }
  throw new StorageStartError(
    `PostgreSQL does not run as root, and no other way worked here (${refusals.join('; ')}). Start Postrider as an ordinary user, allow user namespaces, put DATA_DIR and the program where every user may enter, or set DATABASE_URL.`,
  );
}

function asOurselves(uid: number, gid: number): RunAs {
  return {
    way: 'ourselves',
    uid,
    gid,
    initdbUid: uid,
    initdbGid: gid,
    command: (file, args) => ({ file, args: [...args], ids: {} }),
  };
}

/** Accounts other than root, from the file that initdb will look into. */
async function namedAccounts(): Promise<Account[]> {
  const lines = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const accounts = lines.split('\n').flatMap((line): Account[] => {
    const [name, , uid, gid] = line.split(':');
    return name && Number(uid) > 0 ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
  if (accounts.length > 0) return accounts;
  throw new StorageStartError(
    'PostgreSQL does not run as root, and /etc/passwd names no other account. Start Postrider as an ordinary user or set DATABASE_URL.',
  );
}

function rootWay(way: Way, accounts: Account[]): RunAs {
  const any = accounts.find((account) => account.uid !== OVERFLOW_UID) ?? (accounts[0] as Account);
  if (way === 'ourselves') return asOurselves(0, 0);
  if (way === 'namespace') {
    return {
      ...asOurselves(0, 0),
      way,
      command: (program, args) => ({
        file: 'unshare',
        args: ['--user', `--map-user=${any.uid}`, '--', program, ...args],
        ids: {},
      }),
    };
  }
  const own = accounts.find((account) => account.name === 'postgres');
  const server = own ?? { uid: FREE_UID, gid: FREE_UID };
  const initdb = own ?? accounts.find((account) => account.name === 'nobody') ?? any;
  return {
    way,
    uid: server.uid,
    gid: server.gid,
    initdbUid: initdb.uid,
    initdbGid: initdb.gid,
    command(program, args, forInitdb = false) {
      const { uid, gid } = forInitdb ? initdb : server;
      if (way === 'other-user') return { file: program, args: [...args], ids: { uid, gid } };
      return { file: 'setpriv', args: [...withCapability(uid, gid), program, ...args], ids: {} };
    },
  };
}

/** CAP_DAC_OVERRIDE lets it pass the closed folders above its own, as root's file rights would. */
function withCapability(uid: number, gid: number): string[] {
  return [
    `--reuid=${uid}`,
    `--regid=${gid}`,
    '--clear-groups',
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--bounding-set=-all,+dac_override',
    '--no-new-privs',
    '--',
  ];
}

/** Undefined when the server's program and the data folder can be reached this way. */
async function tryOut(
  runAs: RunAs,
  binaries: Binaries,
  dataDir: string,
): Promise<string | undefined> {
  // PostgreSQL looks for its own files with access(2), which counts no capability but root's.
  if (runAs.way === 'capability' && !(await anyoneMayReach(binaries.postgres))) {
    return 'the program lies below a folder that others may not enter';
  }
  // Another user must pass DATA_DIR to reach the folder inside; our secrets there are 0600.
  if (runAs.way === 'other-user') await chmod(dataDir, 0o711);
  const script = 'cd -- "$1" && exec "$2" --version';
  for (const forInitdb of [false, true]) {
    const { file, args, ids } = runAs.command(
      '/bin/sh',
      ['-c', script, 'sh', dataDir, binaries.postgres],
      forInitdb,
    );
    try {
      await run(file, args, { ...ids, cwd: '/', env: CHILD_ENVIRONMENT, timeout: 10_000 });
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      return (stderr || message).trim().split('\n')[0];
    }
  }
  return undefined;
}

/** Whether all folders above it may be entered by everybody. */
export async function anyoneMayReach(target: string): Promise<boolean> {
  for (let at = path.dirname(target); ; at = path.dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}
