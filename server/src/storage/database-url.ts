import type pg from 'pg';

/** Where a database may be found: one place, or several of which one is the primary. */
export type Places = readonly [pg.ClientConfig, ...pg.ClientConfig[]];

/**
 * Splits a URL that names several hosts (`postgres://user@a:5432,b:5433/db`) as libpq does into one
 * URL each; pg itself takes only one. Undefined when the text is no PostgreSQL URL.
 */
export function placesOf(databaseUrl: string): Places | undefined {
  const match = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(\?[^#]*)?$/.exec(
    databaseUrl,
  );
  if (!match) return undefined;
  const [, scheme, credentials, hosts = '', path = '', query = ''] = match;
  const places = hosts.split(',').map((host) => {
    const authority = credentials === undefined ? host : `${credentials}@${host}`;
    return { connectionString: `${scheme}${authority}${path}${query}` };
  });
  const [first, ...others] = places;
  if (first === undefined || (others.length > 0 && hosts.split(',').includes(''))) return undefined;
  return [first, ...others];
}
