import { randomBytes } from 'node:crypto';
import { chown, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { signalPostgres } from '../harness/database/postgres-signals.ts';
import { freePort } from '../harness/free-port.ts';
import { until } from '../harness/until.ts';
import { type Causes, type DatabaseUnderTest, postgresCauses } from './database-under-test.ts';
import { findPatroni, type PatroniPrograms, SupervisedProgram } from './patroni-programs.ts';

/**
 * Three PostgreSQL servers under Patroni with synchronous replication, and etcd, on the loopback
 * interface and in a temporary folder. A failure is over when there is a leader, both standbys follow
 * it, and one of them is synchronous: a commit that was confirmed then survives the next failover.
 */

const MEMBERS = 3;
/** Below the defaults, so that a failover takes 20 seconds; Patroni accepts no shorter ttl. */
const DCS = { ttl: 20, loop_wait: 4, retry_timeout: 6 };
/** A busy machine, and a member that has to be copied again. */
const RECOVERY_MS = 300_000;
const REQUEST_MS = 5_000;
/** Between two questions, because each costs Patroni processor time. */
const POLL_MS = 250;
const USER = 'postgres';

interface Member {
  name: string;
  dataDir: string;
  port: number;
  /** Address of its REST API. */
  api: string;
  patroni: SupervisedProgram;
}

/** As `GET /cluster` lists it. */
interface MemberState {
  name: string;
  role: string;
  state: string;
}

/** As `GET /patroni` of the leader lists it, from `pg_stat_replication`. */
interface StandbyState {
  state: string;
  sync_state: string;
}

export async function startPatroniCluster(secretKey: string): Promise<DatabaseUnderTest> {
  const programs = await findPatroni();
  await using started = new AsyncDisposableStack();
  const folder = await mkdtemp(path.join(tmpdir(), 'postrider-patroni-'));
  started.defer(() => rm(folder, { recursive: true, force: true }));
  await ownedBy(programs, folder);
  const etcd = started.use(await etcdIn(programs, folder));
  etcd.start();
  await untilHealthy(etcd);
  const password = randomBytes(16).toString('hex');
  const members: Member[] = [];
  for (let n = 0; n < MEMBERS; n++) {
    const member = await memberIn(programs, folder, n, etcd.address, password);
    members.push(member);
    started.defer(() => killMember(member));
    member.patroni.start();
  }
  await untilRecovered(members);
  const hosts = members.map(({ port }) => `127.0.0.1:${port}`).join(',');
  const owned = started.move();
  return {
    description: `${programs.version}, three members with synchronous replication`,
    env: {
      DATABASE_URL: `postgresql://${USER}:${password}@${hosts}/postgres`,
      SECRET_KEY: secretKey,
    },
    causes: {
      ...postgresCauses(async () => (await leaderOf(members)).dataDir),
      ...failoverCauses(members),
    },
    recovered: () => untilRecovered(members),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function failoverCauses(members: readonly Member[]): Causes {
  return {
    'leader-kill': async ({ holdMs }) => {
      const leader = await leaderOf(members);
      await killMember(leader);
      const next = await untilOtherLeader(members, leader);
      await sleep(holdMs);
      leader.patroni.start();
      return `${leader.name}, down for ${holdMs} ms after ${next.name} took over`;
    },
    switchover: async () => {
      const leader = await leaderOf(members);
      const response = await fetch(`${leader.api}/switchover`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ leader: leader.name }),
        signal: AbortSignal.timeout(RECOVERY_MS),
      });
      if (response.status >= 400 && response.status !== 503) {
        throw new Error(`Patroni refused a switchover: ${await response.text()}`);
      }
      const next = await untilOtherLeader(members, leader);
      return `${leader.name} to ${next.name}`;
    },
  };
}

/** Patroni first, because it would start PostgreSQL again. */
async function killMember({ patroni, dataDir }: Member): Promise<void> {
  await patroni.kill();
  await signalPostgres(dataDir, 'SIGKILL');
}

async function untilOtherLeader(members: readonly Member[], former: Member): Promise<Member> {
  let next: Member | undefined;
  await until(
    async () => {
      await sleep(POLL_MS);
      next = (await leaderIn(members)) ?? next;
      return next !== undefined && next !== former;
    },
    { timeoutMs: RECOVERY_MS, what: () => `another member leads.${outputOf(members)}` },
  );
  return next as Member;
}

async function leaderOf(members: readonly Member[]): Promise<Member> {
  const leader = await leaderIn(members);
  if (!leader) throw new Error(`The Patroni cluster has no leader.${outputOf(members)}`);
  return leader;
}

/** A member is the leader if it says so itself; the list of members may be older. */
async function leaderIn(members: readonly Member[]): Promise<Member | undefined> {
  const found = await Promise.all(
    members.map(async (member) => ((await get(member, '/primary')) ? member : undefined)),
  );
  return found.find((member) => member !== undefined);
}

async function untilRecovered(members: readonly Member[]): Promise<void> {
  await until(
    async () => {
      await sleep(POLL_MS);
      const answers = await Promise.all(members.map((member) => get(member, '/cluster')));
      // Each member reads the same list from etcd; one that was restarted may have none yet.
      const areListed = answers.every((answer) => answer !== undefined && isWhole(answer));
      const leader = areListed ? await leaderIn(members) : undefined;
      return leader !== undefined && isReplicating(await get(leader, '/patroni'));
    },
    {
      timeoutMs: RECOVERY_MS,
      what: () => `the Patroni cluster has recovered.${outputOf(members)}`,
    },
  );
}

function isWhole(answer: unknown): boolean {
  const { members } = answer as { members: MemberState[] };
  const count = (role: string): number => members.filter((one) => one.role === role).length;
  const areRunning = members.every(({ state }) => state === 'running' || state === 'streaming');
  return (
    members.length === MEMBERS && areRunning && count('leader') === 1 && count('sync_standby') >= 1
  );
}

/**
 * The list may be older than a restart of PostgreSQL, which ends replication for seconds. A leader that is
 * killed before Patroni has noticed has no synchronous standby, and no other member may take over.
 */
function isReplicating(answer: unknown): boolean {
  const { replication = [] } = (answer ?? {}) as { replication?: StandbyState[] };
  const streaming = replication.filter(({ state }) => state === 'streaming');
  const isSynchronous = streaming.some(({ sync_state: mode }) => mode === 'sync');
  return streaming.length === MEMBERS - 1 && isSynchronous;
}

/** Undefined unless the answer is 200. */
async function get({ api }: Member, route: string): Promise<unknown> {
  try {
    const response = await fetch(api + route, { signal: AbortSignal.timeout(REQUEST_MS) });
    return response.status === 200 ? await response.json() : undefined;
  } catch {
    return undefined;
  }
}

function outputOf(members: readonly Member[]): string {
  return members.map(({ name, patroni }) => `\n${name}:\n${patroni.lastOutput}`).join('');
}

async function etcdIn(
  programs: PatroniPrograms,
  folder: string,
): Promise<SupervisedProgram & { address: string }> {
  const address = `127.0.0.1:${await freePort()}`;
  const [clients, peers] = [`http://${address}`, `http://127.0.0.1:${await freePort()}`];
  const args = [
    ...['--name', 'prove', '--data-dir', path.join(folder, 'etcd'), '--logger', 'zap'],
    ...['--listen-client-urls', clients, '--advertise-client-urls', clients],
    ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
    ...['--initial-cluster', `prove=${peers}`],
  ];
  return Object.assign(new SupervisedProgram(programs, programs.etcd, args, folder), { address });
}

async function untilHealthy(etcd: SupervisedProgram & { address: string }): Promise<void> {
  const isHealthy = () => fetch(`http://${etcd.address}/health`).then(({ ok }) => ok);
  await until(() => isHealthy().catch(() => false), {
    timeoutMs: RECOVERY_MS,
    what: () => `etcd is healthy.\n${etcd.lastOutput}`,
  });
}

async function memberIn(
  programs: PatroniPrograms,
  folder: string,
  number: number,
  etcd: string,
  password: string,
): Promise<Member> {
  const name = `member-${number}`;
  const own = path.join(folder, name);
  await mkdir(own);
  await ownedBy(programs, own);
  const [port, apiPort] = [await freePort(), await freePort()];
  const dataDir = path.join(own, 'data');
  const listen = `127.0.0.1:${port}`;
  const api = `127.0.0.1:${apiPort}`;
  const account = { username: USER, password };
  // JSON is YAML.
  const configuration = {
    scope: 'prove',
    name,
    restapi: { listen: api, connect_address: api },
    etcd3: { host: etcd },
    bootstrap: {
      dcs: {
        ...DCS,
        synchronous_mode: true,
        postgresql: {
          use_pg_rewind: true,
          parameters: { max_connections: 200, wal_keep_size: '256MB' },
        },
      },
      initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'],
    },
    postgresql: {
      listen,
      connect_address: listen,
      data_dir: dataDir,
      bin_dir: programs.postgresBin,
      pgpass: path.join(own, 'pgpass'),
      authentication: { superuser: account, replication: account, rewind: account },
      parameters: { unix_socket_directories: '', password_encryption: 'scram-sha-256' },
      pg_hba: ['all', 'replication'].map(
        (database) => `host ${database} all 127.0.0.1/32 scram-sha-256`,
      ),
    },
  };
  const file = path.join(own, 'patroni.yml');
  await writeFile(file, JSON.stringify(configuration), { mode: 0o600 });
  await ownedBy(programs, file);
  const patroni = new SupervisedProgram(programs, programs.patroni, [file], own);
  return { name, dataDir, port, api: `http://${api}`, patroni };
}

async function ownedBy({ ids }: PatroniPrograms, file: string): Promise<void> {
  if (ids) await chown(file, ids.uid, ids.gid);
}
