import { execFileSync, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** Other mail servers on this machine, each with its own configuration in a temporary directory. */
export interface Peer extends AsyncDisposable {
  name: string;
  /** Where it accepts mail, all of which it relays to the sink. */
  port: number;
  /** Its main processes; the others are their children. */
  pids: readonly number[];
}

const SIGNED_DOMAIN = 'bench.example';

/**
 * Postfix whose mail OpenDKIM signs with RSA-2048, like ours; both as Debian installs them. Mail is
 * deferred if it cannot be signed.
 */
export async function startSigningPostfix(sinkPort: number): Promise<Peer | undefined> {
  if (!existsSync('/usr/sbin/opendkim')) return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'postrider-opendkim-'));
  const port = await freePort();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const keyFile = path.join(folder, 'key.pem');
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs1', format: 'pem' }), { mode: 0o600 });
  const settings = [
    'Mode s',
    'Canonicalization relaxed/relaxed',
    `Domain ${SIGNED_DOMAIN}`,
    'Selector bench',
    `KeyFile ${keyFile}`,
    `Socket inet:${port}@127.0.0.1`,
    'InternalHosts 127.0.0.1',
    'Syslog no',
    'UserID root',
    // It is in a temporary directory, which other users can write to.
    'RequireSafeKeys no',
    '',
  ];
  const settingsFile = path.join(folder, 'opendkim.conf');
  writeFileSync(settingsFile, settings.join('\n'));
  const child = spawn('/usr/sbin/opendkim', ['-f', '-x', settingsFile], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  await connectable(port);
  const postfix = await startPostfix(sinkPort, [
    `smtpd_milters = inet:127.0.0.1:${port}`,
    'milter_default_action = tempfail',
  ]);
  if (!postfix) {
    await stop();
    return undefined;
  }
  return {
    ...postfix,
    name: 'Postfix with OpenDKIM',
    pids: [...postfix.pids, child.pid as number],
    async [Symbol.asyncDispose]() {
      await postfix[Symbol.asyncDispose]();
      await stop();
    },
  };
}

/** Postfix as Debian installs it; undefined where it is missing or may not be started. */
export async function startPostfix(
  sinkPort: number,
  settings: readonly string[] = [],
): Promise<Peer | undefined> {
  if (!existsSync('/usr/sbin/postfix') || process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'postrider-postfix-'));
  const port = await freePort();
  writePostfix(folder, port, sinkPort, settings);
  const postfix = (command: string): void => {
    execFileSync('/usr/sbin/postfix', ['-c', path.join(folder, 'etc'), command], { stdio: 'pipe' });
  };
  postfix('start');
  await listening(port);
  return {
    name: 'Postfix',
    port,
    pids: [Number(readFileSync(path.join(folder, 'spool/pid/master.pid'), 'latin1'))],
    async [Symbol.asyncDispose]() {
      postfix('stop');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function writePostfix(
  folder: string,
  port: number,
  sinkPort: number,
  settings: readonly string[],
): void {
  for (const inner of ['etc', 'spool', 'data']) mkdirSync(path.join(folder, inner));
  execFileSync('chmod', ['755', folder]);
  execFileSync('chown', ['postfix', path.join(folder, 'data')]);
  writeFileSync(
    path.join(folder, 'etc/main.cf'),
    [
      'compatibility_level = 3.6',
      `queue_directory = ${folder}/spool`,
      `data_directory = ${folder}/data`,
      'myhostname = postfix.bench.example',
      'mydestination =',
      'mynetworks = 127.0.0.0/8',
      'inet_interfaces = 127.0.0.1',
      `relayhost = [127.0.0.1]:${sinkPort}`,
      'default_process_limit = 200',
      'smtp_tls_security_level = none',
      'smtpd_tls_security_level = none',
      'alias_maps =',
      'alias_database =',
      `maillog_file = ${folder}/data/maillog`,
      'maillog_file_prefixes = /tmp, /var',
      ...settings,
      '',
    ].join('\n'),
  );
  const stock = execFileSync('cat', ['/etc/postfix/master.cf']).toString();
  const master = stock
    .replace(/^smtp\s+inet.*$/m, `127.0.0.1:${port} inet n - n - - smtpd`)
    .replaceAll(/^(\S+\s+(?:unix|fifo|inet)\s+\S+\s+\S+\s+)y(\s)/gm, '$1n$2');
  writeFileSync(
    path.join(folder, 'etc/master.cf'),
    `${master}\npostlog unix-dgram n - n - 1 postlogd\n`,
  );
}

/**
 * Haraka from npm: `haraka` on the PATH, or the path of its launcher in HARAKA. To install it next
 * to this repository: `{"overrides": {"libmime": "5.3.7"}}` as package.json, `npm install Haraka`,
 * and HARAKA=…/node_modules/.bin/haraka.
 */
export async function startHaraka(sinkPort: number): Promise<Peer | undefined> {
  const launcher = findHaraka();
  if (launcher === undefined) return undefined;
  const folder = mkdtempSync(path.join(tmpdir(), 'postrider-haraka-'));
  const port = await freePort();
  // Its default files come first: it does not start without all of them.
  execFileSync(launcher, ['-i', folder], { stdio: 'pipe' });
  writeHaraka(folder, port, sinkPort);
  const child = spawn(launcher, ['-c', folder], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await listening(port);
  return {
    name: 'Haraka',
    port,
    pids: [child.pid as number],
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function findHaraka(): string | undefined {
  const places = [
    process.env.HARAKA ?? '',
    ...(process.env.PATH ?? '').split(':').map((folder) => path.join(folder, 'haraka')),
  ];
  return places.find((file) => {
    try {
      accessSync(file, constants.X_OK);
      return file !== '';
    } catch {
      return false;
    }
  });
}

/** A plugin that lets everyone relay and routes every domain to the sink. */
function writeHaraka(folder: string, port: number, sinkPort: number): void {
  for (const inner of ['config', 'plugins', 'queue'])
    mkdirSync(path.join(folder, inner), { recursive: true });
  const write = (file: string, text: string): void =>
    writeFileSync(path.join(folder, file), `${text}\n`);
  write('config/me', 'haraka.bench.example');
  write('config/smtp.ini', `listen=127.0.0.1:${port}\nnodes=cpus`);
  write('config/loglevel', 'LOGERROR');
  write('config/plugins', 'to_sink');
  write('config/outbound.ini', 'enable_tls=false\nconcurrency_max=100');
  write(
    'plugins/to_sink.js',
    `exports.hook_rcpt = (next, connection) => {
  connection.relaying = true;
  next(OK);
};
exports.hook_get_mx = (next) => next(OK, { exchange: '127.0.0.1', port: ${sinkPort}, priority: 0 });`,
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = net.createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function connectable(port: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const socket = net.connect(port, '127.0.0.1');
    const open = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    });
    socket.destroy();
    if (open) return;
    if (performance.now() > deadline) throw new Error(`Nothing listens on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function listening(port: number): Promise<void> {
  const deadline = performance.now() + 30_000;
  for (;;) {
    const greeted = await new Promise<boolean>((resolve) => {
      const socket = net.connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.once('close', () => resolve(false));
      socket.once('data', () => {
        resolve(true);
        socket.end('QUIT\r\n');
      });
    });
    if (greeted) return;
    if (performance.now() > deadline) throw new Error(`No greeting on port ${port}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
