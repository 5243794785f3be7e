import { warmUpErrors } from './delivery-routes.ts';
import type { SettingValues } from './read-settings.ts';
import { SETTINGS } from './settings.ts';

const BUCKET_SETTINGS = [
  'CONTENT_BUCKET_URL',
  'CONTENT_BUCKET_ACCESS_KEY_ID',
  'CONTENT_BUCKET_SECRET_ACCESS_KEY',
] as const;

/** Checks between settings that are valid on their own. */
export function findConflicts({ of, wasGiven, errors }: SettingValues): string[] {
  const found: string[] = [];
  if (wasGiven('DATABASE_URL') && !wasGiven('SECRET_KEY')) {
    found.push(
      `SECRET_KEY: required with DATABASE_URL, the same on every node. Expected ${SETTINGS.SECRET_KEY.format}.`,
    );
  }
  if (wasGiven('DATABASE_READ_URL') && !wasGiven('DATABASE_URL')) {
    found.push(
      'DATABASE_READ_URL: needs DATABASE_URL, because the embedded database has no standby.',
    );
  }
  if (wasGiven('DATABASE_SCHEMA') && !wasGiven('DATABASE_URL')) {
    found.push(
      'DATABASE_SCHEMA: needs DATABASE_URL, because the embedded database has one installation only.',
    );
  }
  const bucket = BUCKET_SETTINGS.filter((name) => wasGiven(name));
  if (bucket.length > 0 && bucket.length < BUCKET_SETTINGS.length) {
    const missing = BUCKET_SETTINGS.filter((name) => !wasGiven(name));
    found.push(`${missing.join(', ')}: needed with ${bucket.join(' and ')}.`);
  }
  if (of('CONTENT_RETENTION_DAYS') > of('MESSAGE_RETENTION_DAYS')) {
    found.push(
      `CONTENT_RETENTION_DAYS: ${of('CONTENT_RETENTION_DAYS')} exceeds MESSAGE_RETENTION_DAYS (${of('MESSAGE_RETENTION_DAYS')}). Content cannot be kept longer than its message.`,
    );
  }
  // 0 means that it is unset or invalid, which is reported above.
  if (of('RATE_LIMIT_BURST') !== 0 && of('RATE_LIMIT_BURST') < of('RATE_LIMIT_PER_SECOND')) {
    found.push(
      `RATE_LIMIT_BURST: ${of('RATE_LIMIT_BURST')} is less than RATE_LIMIT_PER_SECOND (${of('RATE_LIMIT_PER_SECOND')}).`,
    );
  }
  if (of('ACCEPT_BUFFER_MAX_BYTES') < of('REQUEST_BODY_MAX_BYTES')) {
    found.push(
      `ACCEPT_BUFFER_MAX_BYTES: must not be less than REQUEST_BODY_MAX_BYTES, or the largest request could never be accepted.`,
    );
  }
  if (
    of('REQUEST_BUFFER_MAX_BYTES') !== 0 &&
    of('REQUEST_BUFFER_MAX_BYTES') < of('REQUEST_BODY_MAX_BYTES')
  ) {
    found.push(
      'REQUEST_BUFFER_MAX_BYTES: must not be less than REQUEST_BODY_MAX_BYTES, or the largest request could never be received.',
    );
  }
  if (wasGiven('SUBMISSION_TLS_CERT') !== wasGiven('SUBMISSION_TLS_KEY')) {
    found.push('SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY: set both or neither.');
  }
  const provider = ['OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET'] as const;
  const missing = provider.filter((name) => !wasGiven(name));
  if (missing.length > 0 && missing.length < provider.length) {
    found.push(`${missing.join(' and ')}: required with the other OIDC_ settings.`);
  }
  if (of('SUBMISSION_TLS_PORT') !== 'off' && !wasGiven('SUBMISSION_TLS_CERT')) {
    found.push(
      'SUBMISSION_TLS_PORT: requires a certificate. Set SUBMISSION_TLS_CERT and SUBMISSION_TLS_KEY, or set the port to off.',
    );
  }
  // Without its routes, each overflow would be reported as unknown.
  if (errors.some((error) => error.startsWith('STREAM_ROUTES: '))) return found;
  found.push(
    ...warmUpErrors({
      routes: of('DELIVERY_ROUTE'),
      streamRoutes: of('STREAM_ROUTES'),
      outgoing: of('OUTGOING_ADDRESSES'),
      heloName: '',
    }),
  );
  return found;
}
