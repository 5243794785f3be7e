import { execFile } from 'node:child_process';
import { chmod, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { StorageStartError } from '../connections/database-errors.ts';
import type { Binaries } from './binaries.ts';

/**
 * PostgreSQL refuses to run as root, but containers, CI jobs and many servers run as root. The first
 * method that works is used:
 *
 * - `self`: as the current user, if that is not root.
 * - `namespace`: in a user namespace that maps root to another user. File ownership does not change,
 *   so it works below folders that only root can enter.
 * - `capability`: as another user that keeps CAP_DAC_OVERRIDE to pass closed folders above the data.
 * - `other-user`: as another user without capabilities.
 *
 * If DATA_DIR belongs to another user, such as that of the service whose commands root runs, then as
 * that user: the files must not change hands, or the service could not start again.
 */
export interface RunAs {
  method: RunAsMethod;
  /** The owner of the data folder. */
  uid: number;
  gid: number;
  /** The owner of the folder while initdb runs, which requires a named account. */
  initdbUid: number;
  initdbGid: number;
  command(program: string, args: readonly string[], forInitdb?: boolean): Command;
}

export interface Command {
  file: string;
  args: string[];
  ids: { uid?: number; gid?: number };
}

export type RunAsMethod = 'self' | 'namespace' | 'capability' | 'other-user';

export const ROOT_METHODS: readonly RunAsMethod[] = ['namespace', 'capability', 'other-user'];

/** The methods that can run as the owner of DATA_DIR. */
const OWNER_METHODS: readonly RunAsMethod[] = ['other-user', 'capability'];

/** PostgreSQL does not inherit the environment, which contains secrets. */
export const CHILD_ENVIRONMENT = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  LC_ALL: 'C',
  TZ: 'UTC',
};

interface User {
  uid: number;
  gid: number;
}

interface Account extends User {
  name: string;
}

/** Not used on common systems; taken if there is no account named postgres. */
const UNUSED_UID = 54_320;
/** The uid that the kernel shows for users that a namespace does not map. */
const OVERFLOW_UID = 65_534;

const run = promisify(execFile);

export async function chooseRunAs(
  binaries: Binaries,
  dataDir: string,
  methods: readonly RunAsMethod[] = ROOT_METHODS,
): Promise<RunAs> {
  const uid = process.getuid?.() ?? 0;
  if (uid !== 0) return asCurrentUser(uid, process.getgid?.() ?? 0);
  const accounts = await namedAccounts();
  const owner = await stat(dataDir);
  const asOwner = owner.uid === 0 ? [] : OWNER_METHODS.filter((method) => methods.includes(method));
  const candidates = [
    ...asOwner.map((method) => runAsForRoot(method, accounts, owner)),
    ...methods.map((method) => runAsForRoot(method, accounts)),
  ];
  const refusals: string[] = [];
  for (const runAs of candidates) {
    const refusal = await probe(runAs, binaries, dataDir, owner);
    if (refusal === undefined) return runAs;
    refusals.push(`${runAs.method}: ${refusal}`);
  }
  throw new StorageStartError(
    `PostgreSQL does not run as root, and running it as another user failed (${refusals.join('; ')}). Start Postrider as a regular user, allow user namespaces, move DATA_DIR and the program to folders that every user can enter, or set DATABASE_URL.`,
  );
}

function asCurrentUser(uid: number, gid: number): RunAs {
  return {
    method: 'self',
    uid,
    gid,
    initdbUid: uid,
    initdbGid: gid,
    command: (file, args) => ({ file, args: [...args], ids: {} }),
  };
}

/** Accounts other than root, from the file that initdb reads. */
async function namedAccounts(): Promise<Account[]> {
  const lines = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const accounts = lines.split('\n').flatMap((line): Account[] => {
    const [name, , uid, gid] = line.split(':');
    return name && Number(uid) > 0 ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
  if (accounts.length > 0) return accounts;
  throw new StorageStartError(
    'PostgreSQL does not run as root, and /etc/passwd contains no other account. Start Postrider as a regular user or set DATABASE_URL.',
  );
}

/** With `owner`, as this user, otherwise as any that works. */
function runAsForRoot(method: RunAsMethod, accounts: Account[], owner?: User): RunAs {
  const any = accounts.find((account) => account.uid !== OVERFLOW_UID) ?? (accounts[0] as Account);
  if (method === 'self') return asCurrentUser(0, 0);
  if (method === 'namespace') {
    return {
      ...asCurrentUser(0, 0),
      method: method,
      command: (program, args) => ({
        file: 'unshare',
        args: ['--user', `--map-user=${any.uid}`, '--', program, ...args],
        ids: {},
      }),
    };
  }
  const own = accounts.find(({ name, uid }) => (owner ? uid === owner.uid : name === 'postgres'));
  const server = owner ?? own ?? { uid: UNUSED_UID, gid: UNUSED_UID };
  const initdb = own ?? accounts.find((account) => account.name === 'nobody') ?? any;
  return {
    method: method,
    uid: server.uid,
    gid: server.gid,
    initdbUid: initdb.uid,
    initdbGid: initdb.gid,
    command(program, args, forInitdb = false) {
      const { uid, gid } = forInitdb ? initdb : server;
      if (method === 'other-user') return { file: program, args: [...args], ids: { uid, gid } };
      return { file: 'setpriv', args: [...withCapability(uid, gid), program, ...args], ids: {} };
    },
  };
}

/** CAP_DAC_OVERRIDE bypasses file permissions, as for root. */
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

/** Returns why the method does not work, or undefined if it does. */
async function probe(
  runAs: RunAs,
  binaries: Binaries,
  dataDir: string,
  owner: User,
): Promise<string | undefined> {
  // PostgreSQL checks its files with access(2), which ignores capabilities of other users.
  if (runAs.method === 'capability' && !(await isReachableByEveryone(binaries.postgres))) {
    return 'the program is in a folder that other users cannot enter';
  }
  // The other user must pass through DATA_DIR. The secrets in it have mode 0600.
  const isOwner = runAs.uid === owner.uid && runAs.initdbUid === owner.uid;
  if (runAs.method === 'other-user' && !isOwner) await chmod(dataDir, 0o711);
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

/** Whether all parent folders can be entered by every user. */
export async function isReachableByEveryone(target: string): Promise<boolean> {
  for (let at = path.dirname(target); ; at = path.dirname(at)) {
    if (((await stat(at)).mode & 0o001) === 0) return false;
    if (at === path.dirname(at)) return true;
  }
}
