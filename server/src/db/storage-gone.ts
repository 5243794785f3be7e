/**
 * Tells "the database is not there" from "the database said no". The first is nobody's fault who
 * asks: nothing is known to be stored, the caller may try again. The second is an answer.
 */
export function isStorageGone(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof NoConnectionError) return true;
  const code = (error as { code?: unknown }).code;
  if (typeof code === 'string') {
    if (SYSTEM_CODES.has(code) || SQL_STATES.has(code)) return true;
    // Class 08: connection exceptions.
    if (/^08[0-9A-Z]{3}$/.test(code)) return true;
  }
  if (error instanceof AggregateError) return error.errors.some(isStorageGone);
  return MESSAGES.some((message) => error.message.startsWith(message));
}

/**
 * No connection came to be, whatever the reason: a login that is refused for a while (a password that
 * changes, a database that is fenced off), a certificate, no file descriptor left. It is no answer to
 * a statement, since none was asked. The reason itself is the cause.
 */
export class NoConnectionError extends Error {
  override name = 'NoConnectionError';

  constructor(cause: unknown) {
    super('No connection to the database', { cause });
  }
}

/** Also as the pool tells it when it has waited for long enough. */
export function isNoConnection(error: unknown): boolean {
  if (error instanceof NoConnectionError) return true;
  return error instanceof Error && error.cause instanceof NoConnectionError;
}

const SQL_STATES = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25006', // read_only_sql_transaction: the primary was demoted under us
  '25P03', // idle_in_transaction_session_timeout
  '53300', // too_many_connections
  '53100', // disk_full
  '53200', // out_of_memory
  '58030', // io_error
  '57014', // query_canceled: the statement timeout
]);

const SYSTEM_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

/** What pg says without a code when the connection ends or does not come up. */
const MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool',
];
