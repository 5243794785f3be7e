import { HELD_FOR } from '../accounts/held-mail-source.ts';
import { channel } from '../db/connections/notification-channels.ts';
import type { Queryable } from '../db/connections/pool.ts';
import { sqlTime } from '../db/schema/row-types.ts';
import type { DomainKeysRow, DomainsRow } from '../db/schema/tables.ts';
import { selectList } from '../db/statements/select-list.ts';
import { type SearchedPage, searchTerms } from '../db/statements/text-search.ts';
import { displayDomain } from '../mail/domain-name.ts';
import type { EncryptedDomainKey } from './dkim-key-generator.ts';
import type { Domain, DomainKey, SenderDomain } from './domain.ts';

/** SQL for the tables `domains` and `domain_keys`. */

const COLUMNS = selectList<DomainsRow, DomainRow>(
  {
    workspaceId: 'workspace_id',
    id: 'id',
    name: 'name',
    status: 'status',
    trusted: 'trusted',
    ownershipToken: 'ownership_token',
    returnPathHost: 'return_path_host',
    trackingHost: 'tracking_host',
    tls: 'tls',
    trackOpens: 'track_opens',
    trackClicks: 'track_clicks',
    receiving: 'receiving',
    checks: 'checks',
    createdAtMs: 'created_at',
    verifiedAtMs: 'verified_at',
    checkedAtMs: 'checked_at',
    checkDueAtMs: 'check_due_at',
  },
  'd',
);

/** Without its keys. */
export type DomainRow = Omit<Domain, 'keys'>;

export async function findSenderDomain(
  db: Queryable,
  workspaceId: string,
  name: string,
): Promise<SenderDomain | undefined> {
  const { rows } = await db.query<SenderDomain>({
    name: 'find-sender-domain',
    text: `select name, trusted or status in ('verified', 'degraded') as "maySend",
        (select ${HELD_FOR} from workspaces w where w.id = $1) as "suspendedFor",
        track_opens as "trackOpens", track_clicks as "trackClicks",
        case when trusted or exists (
            select from json_array_elements(checks) c
             where c->>'name' = tracking_host and c->>'lastKnown' = 'found')
          then tracking_host end as "trackingHost"
      from domains where workspace_id = $1 and name = $2`,
    values: [workspaceId, name],
  });
  return rows[0];
}

/** False when the workspace already has a domain with this name. */
export async function insertDomain(db: Queryable, domain: Domain): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into domains (workspace_id, id, name, status, trusted, ownership_token,
       return_path_host, tracking_host, tls, track_opens, track_clicks, receiving, created_at,
       verified_at, check_due_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
     on conflict (workspace_id, name) do nothing`,
    [
      domain.workspaceId,
      domain.id,
      domain.name,
      domain.status,
      domain.trusted,
      domain.ownershipToken,
      domain.returnPathHost,
      domain.trackingHost,
      domain.tls,
      domain.trackOpens,
      domain.trackClicks,
      domain.receiving,
      sqlTime(domain.createdAtMs),
      sqlTime(domain.verifiedAtMs),
      sqlTime(domain.checkDueAtMs),
    ],
  );
  return rowCount === 1;
}

export async function insertKeys(
  db: Queryable,
  domain: Pick<Domain, 'workspaceId' | 'id'>,
  keys: readonly EncryptedDomainKey[],
): Promise<void> {
  for (const key of keys) {
    await db.query(
      `insert into domain_keys (workspace_id, domain_id, selector, algorithm, slot, dns_value,
         encrypted_private_key, created_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        domain.workspaceId,
        domain.id,
        key.selector,
        key.algorithm,
        key.slot,
        key.dnsValue,
        key.encryptedPrivateKey,
        sqlTime(key.createdAtMs),
      ],
    );
  }
}

/**
 * Next keys become current and current keys are retired. Retired keys lose their private key:
 * nothing new is signed with them, and a retry sends the existing signature.
 */
export async function promoteNextKeys(
  db: Queryable,
  domain: Pick<Domain, 'workspaceId' | 'id'>,
  nowMs: number,
): Promise<void> {
  const values = [domain.workspaceId, domain.id];
  await db.query(
    `update domain_keys set slot = 'retired', retired_at = $3, encrypted_private_key = null
     where workspace_id = $1 and domain_id = $2 and slot = 'current'`,
    [...values, sqlTime(nowMs)],
  );
  await db.query(
    `update domain_keys set slot = 'current'
     where workspace_id = $1 and domain_id = $2 and slot = 'next'`,
    values,
  );
}

export async function deleteKeys(
  db: Queryable,
  domain: Pick<Domain, 'workspaceId' | 'id'>,
  selectors: readonly string[],
): Promise<void> {
  if (selectors.length === 0) return;
  await db.query(
    `delete from domain_keys
     where workspace_id = $1 and domain_id = $2 and slot = 'retired' and selector = any($3)`,
    [domain.workspaceId, domain.id, selectors],
  );
}

/** Updates everything that can change in a domain, except its keys. */
export async function updateDomain(db: Queryable, domain: Domain): Promise<void> {
  await db.query(
    `update domains set status = $3, trusted = $4, tracking_host = $5, tls = $6, track_opens = $7,
       track_clicks = $8, receiving = $9, checks = $10, verified_at = $11, checked_at = $12,
       check_due_at = $13
     where workspace_id = $1 and id = $2`,
    [
      domain.workspaceId,
      domain.id,
      domain.status,
      domain.trusted,
      domain.trackingHost,
      domain.tls,
      domain.trackOpens,
      domain.trackClicks,
      domain.receiving,
      JSON.stringify(domain.checks),
      sqlTime(domain.verifiedAtMs),
      sqlTime(domain.checkedAtMs),
      sqlTime(domain.checkDueAtMs),
    ],
  );
}

export async function deleteDomain(
  db: Queryable,
  workspaceId: string,
  id: string,
): Promise<boolean> {
  const { rowCount } = await db.query('delete from domains where workspace_id = $1 and id = $2', [
    workspaceId,
    id,
  ]);
  return rowCount === 1;
}

export async function findDomain(
  db: Queryable,
  workspaceId: string,
  id: string,
  lock: '' | 'for update' = '',
): Promise<Domain | undefined> {
  const { rows } = await db.query<DomainRow>(
    `select ${COLUMNS} from domains d where d.workspace_id = $1 and d.id = $2 ${lock}`,
    [workspaceId, id],
  );
  return (await withKeys(db, rows))[0];
}

export async function findDomainByName(
  db: Queryable,
  workspaceId: string,
  name: string,
  lock: '' | 'for update' = '',
): Promise<Domain | undefined> {
  const { rows } = await db.query<DomainRow>(
    `select ${COLUMNS} from domains d where d.workspace_id = $1 and d.name = $2 ${lock}`,
    [workspaceId, name],
  );
  return (await withKeys(db, rows))[0];
}

/** Newest first; `before` is the id of the last domain of the previous page. */
export async function listDomains(
  db: Queryable,
  workspaceId: string,
  page: SearchedPage,
): Promise<Domain[]> {
  const { rows } = await db.query<DomainRow>(
    `select ${COLUMNS} from domains d
     where d.workspace_id = $1 and ($2::uuid is null or d.id < $2)
       and ($4::uuid[] is null or d.id = any($4))
     order by d.id desc limit $3`,
    [workspaceId, page.before ?? null, page.limit, await findIdsByName(db, workspaceId, page.text)],
  );
  return withKeys(db, rows);
}

/**
 * Null when there is no search text. PostgreSQL cannot decode A-labels, so names are matched here,
 * in both their ASCII and Unicode form: a workspace has at most a thousand.
 */
async function findIdsByName(
  db: Queryable,
  workspaceId: string,
  text: string | undefined,
): Promise<string[] | null> {
  const terms = searchTerms(text?.normalize('NFC'));
  if (terms === null) return null;
  const { rows } = await db.query<Pick<Domain, 'id' | 'name'>>(
    'select id, name from domains where workspace_id = $1',
    [workspaceId],
  );
  const matchesAll = (name: string): boolean => {
    const texts = `${name}\n${displayDomain(name)}`;
    return terms.every((term) => texts.includes(term));
  };
  return rows.filter(({ name }) => matchesAll(name)).map(({ id }) => id);
}

export async function countDomains(db: Queryable, workspaceId: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*) as count from domains where workspace_id = $1',
    [workspaceId],
  );
  return rows[0]?.count ?? 0;
}

/** Domains of other workspaces that are verified under one of these names. */
export async function findVerifiedElsewhere(
  db: Queryable,
  workspaceId: string,
  names: readonly string[],
): Promise<Pick<Domain, 'workspaceId' | 'id' | 'name' | 'status'>[]> {
  const { rows } = await db.query<Pick<Domain, 'workspaceId' | 'id' | 'name' | 'status'>>(
    `select d.workspace_id as "workspaceId", d.id, d.name, d.status from domains d
     where d.name = any($2) and d.workspace_id <> $1 and d.status in ('verified', 'degraded')`,
    [workspaceId, names],
  );
  return rows;
}

/**
 * Claims domains that are due for a check: the first of every workspace before the second of any,
 * so that one workspace with many domains does not delay the others. Concurrent nodes skip locked
 * rows. A domain that is not checked by `leasedUntilMs` is due again. So is one scheduled later
 * than `latestPlausibleMs`, because its time was written by a wrong clock.
 */
export async function claimDueDomains(
  db: Queryable,
  options: { nowMs: number; leasedUntilMs: number; latestPlausibleMs: number; limit: number },
): Promise<Pick<Domain, 'workspaceId' | 'id'>[]> {
  const isDue = '(check_due_at <= $1 or check_due_at > $4)';
  const { rows } = await db.query<Pick<Domain, 'workspaceId' | 'id'>>(
    `update domains d set check_due_at = $2
     from (select workspace_id, id from domains
           where ${isDue} and (workspace_id, id) in (
             select workspace_id, id from (
               select workspace_id, id, check_due_at,
                 row_number() over (partition by workspace_id order by check_due_at) as turn
               from domains where ${isDue}) waiting
             order by turn, check_due_at limit $3)
           for update skip locked) due
     where d.workspace_id = due.workspace_id and d.id = due.id
     returning d.workspace_id as "workspaceId", d.id`,
    [
      sqlTime(options.nowMs),
      sqlTime(options.leasedUntilMs),
      options.limit,
      sqlTime(options.latestPlausibleMs),
    ],
  );
  return rows;
}

/** A domain with the encrypted private keys that it currently signs with. */
export async function findSigningDomain(
  db: Queryable,
  workspaceId: string,
  name: string,
): Promise<{ domain: DomainRow; keys: SigningKey[]; suspendedFor: string | null } | undefined> {
  // One statement, because the first message of every workspace waits for it. A domain without keys
  // has one row.
  const { rows } = await db.query<DomainRow & SigningKeyColumns>({
    name: 'find-signing-domain',
    text: `select ${COLUMNS},
        (select ${HELD_FOR} from workspaces where id = $1) as "suspendedFor",
        k.selector as "keySelector", k.algorithm as "keyAlgorithm", k.dns_value as "keyDnsValue",
        k.encrypted_private_key as "encryptedPrivateKey"
      from domains d left join domain_keys k
        on k.workspace_id = d.workspace_id and k.domain_id = d.id and k.slot = 'current'
      where d.workspace_id = $1 and d.name = $2`,
    values: [workspaceId, name],
  });
  const [domain] = rows;
  if (!domain) return undefined;
  const keys = rows.flatMap((row) =>
    row.keySelector === null
      ? []
      : [
          {
            selector: row.keySelector,
            algorithm: row.keyAlgorithm,
            dnsValue: row.keyDnsValue,
            encryptedPrivateKey: row.encryptedPrivateKey,
          },
        ],
  );
  return { domain, keys, suspendedFor: domain.suspendedFor };
}

export type SigningKey = Pick<
  EncryptedDomainKey,
  'selector' | 'algorithm' | 'dnsValue' | 'encryptedPrivateKey'
>;

interface SigningKeyColumns {
  suspendedFor: string | null;
  keySelector: string | null;
  keyAlgorithm: SigningKey['algorithm'];
  keyDnsValue: string;
  encryptedPrivateKey: Buffer;
}

/** Notifies every node on commit, so that caches drop the workspace's domains. */
export async function notifyDomainsChanged(db: Queryable, workspaceId: string): Promise<void> {
  await db.query(`select pg_notify(${channel('domains')}, $1)`, [workspaceId]);
}

const KEY_COLUMNS = selectList<DomainKeysRow, DomainKey>(
  {
    selector: 'selector',
    algorithm: 'algorithm',
    slot: 'slot',
    dnsValue: 'dns_value',
    createdAtMs: 'created_at',
    retiredAtMs: 'retired_at',
  },
  'k',
);

async function withKeys(db: Queryable, domains: readonly DomainRow[]): Promise<Domain[]> {
  if (domains.length === 0) return [];
  const { rows } = await db.query<DomainKey & { domainId: string }>(
    `select k.domain_id as "domainId", ${KEY_COLUMNS} from domain_keys k
     where k.workspace_id = $1 and k.domain_id = any($2::uuid[])`,
    [domains[0]?.workspaceId, domains.map((domain) => domain.id)],
  );
  const keysOf = Map.groupBy(rows, (row) => row.domainId);
  return domains.map((domain) => ({
    ...domain,
    keys: (keysOf.get(domain.id) ?? []).map(({ domainId: _, ...key }) => key),
  }));
}
