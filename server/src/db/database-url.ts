import pg from 'pg';
import { didYouMean } from '../lib/did-you-mean.ts';
import { StorageStartError } from './start-error.ts';

/** Where a database may be found: one place, or several of which one is the primary. */
export type DatabaseHosts = readonly [pg.ClientConfig, ...pg.ClientConfig[]];

/**
 * Splits a URL that names several hosts (`postgres://user@a:5432,b:5433/db`) as libpq does into one
 * URL each; pg itself takes only one. What is wrong in it is told without repeating it: where a
 * password holds a character that should have been written in percent, any part may be the password.
 */
export function parseDatabaseUrl(databaseUrl: string): DatabaseHosts {
  const match = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#@]*)(\/[^?#]*)?(\?[^#]*)?$/.exec(
    databaseUrl,
  );
  if (!match) throw wrong(NO_ADDRESS);
  const [, scheme, credentials, hosts = '', path = '', query = ''] = match;
  // Whatever stands before such an @ was meant to be a name and a password.
  if (credentials === undefined && path.includes('@')) throw wrong(NO_ADDRESS);
  const parameters = checkedParameters(query);
  const places = hosts.split(',').map((host) => {
    refuseWrongPort(host);
    const authority = credentials === undefined ? host : `${credentials}@${host}`;
    return { connectionString: `${scheme}${authority}${path}${parameters}` };
  });
  const [first, ...others] = places;
  if (first === undefined || (others.length > 0 && hosts.split(',').includes(''))) {
    throw wrong('DATABASE_URL names several hosts, and one of them is empty.');
  }
  for (const place of places) refuseUnreadable(place);
  return [first, ...others];
}

const NO_ADDRESS =
  'DATABASE_URL is not a PostgreSQL address. It takes postgres://user:password@host:5432/database; characters of the password that mean something in an address are written in percent: %40 for @, %2F for /, %25 for %.';

const SSL_MODES = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** What pg reads, and names that libpq knows, which do no harm. */
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
      throw wrong(`DATABASE_URL has a parameter that is not known. Do you mean ${meant}?`);
    }
  }
  const mode = parameters.get('sslmode');
  if (mode !== null && !SSL_MODES.includes(mode)) {
    throw wrong(`sslmode in DATABASE_URL is one of ${SSL_MODES.join(', ')}.`);
  }
  if (!['true', '1', '0', 'no-verify', null].includes(parameters.get('ssl'))) {
    throw wrong('ssl in DATABASE_URL is true or 0. sslmode says it more closely.');
  }
  const port = parameters.get('port');
  if (port !== null && !isPort(port)) throw wrong(NO_PORT);
  // To pg these mean verify-full, and it warns on the terminal that they may mean less one day. Who
  // asks for libpq's own meaning gets that.
  const isStrict = mode !== null && /^(prefer|require|verify-ca)$/.test(mode);
  if (!isStrict || parameters.get('uselibpqcompat') === 'true') return query;
  parameters.set('sslmode', 'verify-full');
  return `?${parameters}`;
}

const NO_PORT = 'A port in DATABASE_URL is not a number between 1 and 65535.';

function refuseWrongPort(host: string): void {
  const [, port = ''] = /^(?:\[.*\]|[^:]*)(?::(.*))?$/.exec(host) ?? [];
  if (port.includes(':')) {
    throw wrong('An IPv6 address in DATABASE_URL stands in brackets: [2001:db8::1]:5432.');
  }
  if (port !== '' && !isPort(port)) throw wrong(NO_PORT);
}

function isPort(text: string): boolean {
  return /^[0-9]{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535;
}

/** pg reads the address, and the files that it names, when a client is made: nothing is connected. */
function refuseUnreadable(place: pg.ClientConfig): void {
  try {
    new pg.Client(place);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === undefined) throw wrong(NO_ADDRESS);
    throw wrong(`DATABASE_URL names the file ${path}, which cannot be read (${code}).`);
  }
}

function wrong(message: string): StorageStartError {
  return new StorageStartError(message);
}
