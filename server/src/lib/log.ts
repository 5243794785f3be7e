import pino from 'pino';

/**
 * Structured logs, one JSON object per line. The fields listed below are always redacted, because logs
 * are copied to many places. Request bodies and complete API keys must not be logged at all.
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
  /** Standard output by default. */
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

/** Redacts at the top level and up to two levels down (`req.headers.cookie`). */
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

/** Buffered output; lines beyond it are dropped. */
const UNWRITTEN_BYTES_MAX = 1024 * 1024;

function standardOutput(): pino.DestinationStream {
  const out = pino.destination({ fd: 1, sync: true, maxLength: UNWRITTEN_BYTES_MAX });
  // A full disk or a closed terminal loses log lines but must not crash the server.
  out.on('error', () => {});
  return out;
}

/** For tests, and for commands that print only their result. */
export const silentLog: Log = pino({ level: 'silent' });
