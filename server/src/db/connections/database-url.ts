import pg from 'pg';
import { didYouMean } from '../../lib/did-you-mean.ts';
import { StorageStartError } from './database-errors.ts';

/** The hosts of a database: one, or several of which one is the primary. */
export type DatabaseHosts = readonly [DatabaseHost, ...DatabaseHost[]];

export interface DatabaseHost extends pg.ClientConfig {
  /** Where the tables are, the same on all hosts; by default where the user's search path leads. */
  schema?: string | undefined;
}

/** Unquoted names are safe in statements; longer ones would not fit into names of notification channels. */
export const SCHEMA_NAME = /^(?!pg_)[a-z_][a-z0-9_]{0,39}$/;

/** Unset, the schema is the first existing one of the user's search path, usually `public`. */
export function setSearchPath({ schema }: DatabaseHost): string[] {
  if (schema === undefined) return [];
  if (!SCHEMA_NAME.test(schema)) throw new Error('Broken invariant: invalid schema name');
  return [`set search_path = "${schema}"`];
}

/** Operators see in pg_stat_activity which installation a session belongs to. */
export function applicationNameIn(schema: string | undefined, name: string): string {
  return schema === undefined || schema === 'public' ? name : `${name} ${schema}`;
}

/**
 * Splits a URL with several hosts (`postgres://user@a:5432,b:5433/db`), which libpq supports and pg
 * does not, into one URL each. Errors never quote the URL: if a special character of the password is
 * not percent-encoded, any part of the URL may contain the password.
 */
export function parseDatabaseUrl(
  url: string,
  { schema, setting = 'DATABASE_URL' }: { schema?: string | undefined; setting?: string } = {},
): DatabaseHosts {
  try {
    const [first, ...others] = parseHosts(url);
    if (schema === undefined) return [first, ...others];
    return [{ ...first, schema }, ...others.map((host) => ({ ...host, schema }))];
  } catch (error) {
    if (!(error instanceof StorageStartError)) throw error;
    throw startError(error.message.replaceAll('DATABASE_URL', setting));
  }
}

function parseHosts(databaseUrl: string): DatabaseHosts {
  const match = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(\?[^#]*)?$/.exec(
    databaseUrl,
  );
  if (!match) throw startError(INVALID_URL);
  const [, scheme, credentials, hostList = '', path = '', query = ''] = match;
  // An @ in the path means that the password contains an unencoded slash.
  if (credentials === undefined && path.includes('@')) throw startError(INVALID_URL);
  const parameters = checkedParameters(query);
  const hosts = hostList.split(',').map((host) => {
    checkPort(host);
    const authority = credentials === undefined ? host : `${credentials}@${host}`;
    return { connectionString: `${scheme}${authority}${path}${parameters}` };
  });
  const [first, ...others] = hosts;
  if (first === undefined || (others.length > 0 && hostList.split(',').includes(''))) {
    throw startError('DATABASE_URL has several hosts, and one of them is empty.');
  }
  for (const host of hosts) checkReadable(host);
  return [first, ...others];
}

const INVALID_URL =
  'DATABASE_URL is not a PostgreSQL URL. Expected postgres://user:password@host:5432/database; special characters in the password must be percent-encoded: %40 for @, %2F for /, %25 for %.';

const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Parameters of pg, and of libpq where pg ignores them. */
const PARAMETERS = [
  ...['host', 'port', 'user', 'password', 'ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert'],
  ...['sslnegotiation', 'uselibpqcompat', 'application_name', 'fallback_application_name'],
  ...['client_encoding', 'options', 'connect_timeout', 'channel_binding', 'target_session_attrs'],
];

function checkedParameters(query: string): string {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    const meant = PARAMETERS.includes(name) ? undefined : didYouMean(name, PARAMETERS);
    if (meant !== undefined) {
      throw startError(`Unknown parameter in DATABASE_URL. Did you mean ${meant}?`);
    }
  }
  const mode = parameters.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw startError(`sslmode in DATABASE_URL must be one of ${SSL_MODES.join(', ')}.`);
  }
  if (!['true', '1', '0', 'no-verify', null].includes(parameters.get('ssl'))) {
    throw startError('ssl in DATABASE_URL must be true or 0. Use sslmode for more options.');
  }
  const port = parameters.get('port');
  if (port !== null && !isPort(port)) throw startError(INVALID_PORT);
  // pg treats these as verify-full and warns on the terminal that this may change. They are passed as
  // verify-full, unless libpq's meaning is requested.
  const isStrict = mode !== null && /^(prefer|require|verify-ca)$/.test(mode);
  if (!isStrict || parameters.get('uselibpqcompat') === 'true') return query;
  parameters.set('sslmode', 'verify-full');
  return `?${parameters}`;
}

const INVALID_PORT = 'A port in DATABASE_URL is not between 1 and 65535.';

function checkPort(host: string): void {
  const [, port = ''] = /^(?:\[.*\]|[^:]*)(?::(.*))?$/.exec(host) ?? [];
  if (port.includes(':')) {
    throw startError('An IPv6 address in DATABASE_URL must be in brackets: [2001:db8::1]:5432.');
  }
  if (port !== '' && !isPort(port)) throw startError(INVALID_PORT);
}

function isPort(text: string): boolean {
  return /^[0-9]{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** Creating a client parses the URL and reads certificate files, without connecting. */
function checkReadable(host: pg.ClientConfig): void {
  try {
    new pg.Client(host);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === undefined) throw startError(INVALID_URL);
    throw startError(`Cannot read the file ${path} named in DATABASE_URL (${code}).`);
  }
}

function startError(message: string): StorageStartError {
  return new StorageStartError(message);
}
