/**
 * Classifies errors of the database driver. The distinction that matters most: with a connection
 * error nothing is known to be stored and the caller may retry, while any other error is an answer.
 */
export function isConnectionError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof NoConnectionError) return true;
  const code = codeOf(error);
  if (typeof code === 'string') {
    if (SYSTEM_CODES.has(code) || SQL_STATES.has(code)) return true;
    // Class 08: connection exceptions.
    if (/^08[0-9A-Z]{3}$/.test(code)) return true;
  }
  if (error instanceof AggregateError) return error.errors.some(isConnectionError);
  return MESSAGES.some((message) => error.message.startsWith(message));
}

/** The server that stores the data has no space left. */
export function isDiskFull(error: unknown): boolean {
  return codeOf(error) === '53100';
}

/** PostgreSQL rolled back because of a concurrent transaction, usually a deadlock: retry. */
export function isSerializationFailure(error: unknown): boolean {
  const code = codeOf(error);
  return code === '40P01' || code === '40001';
}

export function isLockTimeout(error: unknown): boolean {
  return codeOf(error) === '55P03';
}

/** The workspace is on its way to another installation, and the write came too late (db/connections/write-fence.ts). */
export function isWriteFenced(error: unknown): boolean {
  return codeOf(error) === WRITE_FENCED;
}

/** A state of our own. The standard leaves classes that begin with I to Z to implementations. */
export const WRITE_FENCED = 'PRM01';

/** An error that a retry can overcome: no connection, a serialization failure or a lock timeout. */
export function isTransientError(error: unknown): boolean {
  return isConnectionError(error) || isSerializationFailure(error) || isLockTimeout(error);
}

/**
 * No connection could be made: the login was refused, the certificate is invalid, or there is no file
 * descriptor left. No statement was sent. The reason is the cause.
 */
export class NoConnectionError extends Error {
  override name = 'NoConnectionError';

  constructor(cause: unknown) {
    super('No connection to the database', { cause });
  }
}

/** Also matches the error that the pool throws when waiting for a connection times out. */
export function isNoConnection(error: unknown): boolean {
  if (error instanceof NoConnectionError) return true;
  return error instanceof Error && error.cause instanceof NoConnectionError;
}

/**
 * The server cannot start, and only the operator can change that. The message is a complete sentence
 * with the cause and the fix. It is printed without a stack trace.
 */
export class StorageStartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StorageStartError';
  }
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

const SQL_STATES = new Set([
  '57P01', // admin_shutdown
  '57P02', // crash_shutdown
  '57P03', // cannot_connect_now
  '57P05', // idle_session_timeout
  '25006', // read_only_sql_transaction: the primary was demoted
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

/** Messages of pg errors without a code, for connections that end or cannot be made. */
const MESSAGES = [
  'Connection terminated',
  'timeout exceeded when trying to connect',
  'timeout expired',
  'Query read timeout',
  'Client has encountered a connection error',
  'Client was closed and is not queryable',
  'Cannot use a pool after calling end on the pool',
];
