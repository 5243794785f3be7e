import pino from 'pino';

/**
 * Structured logs, one JSON object a line. Whatever a caller hands over, the fields named below
 * leave as "[redacted]": a log is copied to more places than its owner knows. Bodies and full keys
 * must not be handed over at all.
 */
export type Log = pino.Logger;

export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

export const LOG_LEVELS: readonly LogLevel[] = [
  'fatal',
  'error',
  'warn',
  'info',
  'debug',
  'trace',
  'silent',
];

export interface LogOptions {
  level: LogLevel;
  /** Where lines go; standard output unless given. */
  destination?: pino.DestinationStream;
}

const SECRET_FIELDS = [
  'authorization',
  'Authorization',
  'cookie',
  'password',
  'pass',
  'secret',
  'secretKey',
  'token',
  'apiKey',
  'privateKey',
  'connectionString',
  'databaseUrl',
];

/** Secrets hide at the top, one level down (`headers.cookie`) and two (`req.headers.cookie`). */
const REDACTED_PATHS = SECRET_FIELDS.flatMap((field) => [
  field,
  `*.${field}`,
  `*.*.${field}`,
]).concat(
  ['set-cookie', 'proxy-authorization', 'x-api-key'].flatMap((header) => [
    `["${header}"]`,
    `*["${header}"]`,
    `*.*["${header}"]`,
  ]),
);

export function createLog(options: LogOptions): Log {
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: REDACTED_PATHS, censor: '[redacted]' },
    },
    options.destination ?? standardOutput(),
  );
}

/** What could not be written yet; more is dropped. */
const UNWRITTEN_BYTES_MAX = 1024 * 1024;

function standardOutput(): pino.DestinationStream {
  const out = pino.destination({ fd: 1, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  // A disk that is full or a terminal that is closed costs lines of the log, and not the server.
  out.on('error', () => {});
  return out;
}

/** For tests and for commands that must print nothing but their answer. */
export const silentLog: Log = pino({ level: 'silent' });
