import type { Pool } from '../db/connections/pool.ts';
import type { MailHostsRow } from '../db/schema/tables.ts';
import type { MailHosts } from './domain.ts';

/**
 * The host names in DNS records belong to the installation, not to the shell of a command. The server
 * stores them when it starts, and commands read them, so that both expect the same records.
 */
export async function saveMailHosts(pool: Pool, hosts: MailHosts): Promise<void> {
  const values = [hosts.bounceHost, hosts.spfMechanism, hosts.trackingTarget];
  await pool.query(
    `insert into mail_hosts (bounce_host, spf_mechanism, tracking_target) values ($1, $2, $3)
     on conflict (singleton) do update set bounce_host = excluded.bounce_host,
       spf_mechanism = excluded.spf_mechanism, tracking_target = excluded.tracking_target
     where (mail_hosts.bounce_host, mail_hosts.spf_mechanism, mail_hosts.tracking_target)
       is distinct from (excluded.bounce_host, excluded.spf_mechanism, excluded.tracking_target)`,
    values,
  );
}

/** Undefined if no server has used the database yet. */
export async function loadMailHosts(pool: Pool): Promise<MailHosts | undefined> {
  const { rows } = await pool.query<Omit<MailHostsRow, 'singleton'>>(
    'select bounce_host, spf_mechanism, tracking_target from mail_hosts',
  );
  const [row] = rows;
  return (
    row && {
      bounceHost: row.bounce_host,
      spfMechanism: row.spf_mechanism,
      trackingTarget: row.tracking_target,
    }
  );
}
