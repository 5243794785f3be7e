import type { ReceivedReply } from './reply-parser.ts';
import { type SmtpFailure, smtpError, smtpRejection } from './smtp-results.ts';

/** The user name and password for a relay. */
export interface SmtpCredentials {
  user: string;
  password: string;
}

/**
 * Sends `prefix` and `secret` as one line and returns the reply. They are separate so that the
 * transcript never contains a credential.
 */
export type SendSecret = (prefix: string, secret: string) => Promise<ReceivedReply | SmtpFailure>;

/** Authenticates with AUTH PLAIN (RFC 4616) or, for old relays, LOGIN. Undefined on success. */
export async function authenticateSmtp(
  send: SendSecret,
  mechanisms: ReadonlySet<string>,
  credentials: SmtpCredentials,
): Promise<SmtpFailure | undefined> {
  if (mechanisms.has('PLAIN')) return authPlain(send, credentials);
  if (mechanisms.has('LOGIN')) return authLogin(send, credentials);
  return smtpError(
    'auth_not_offered',
    'auth',
    'The relay offers neither AUTH PLAIN nor AUTH LOGIN.',
  );
}

async function authPlain(send: SendSecret, { user, password }: SmtpCredentials) {
  return requireCode(235, await send('AUTH PLAIN ', base64(`\0${user}\0${password}`)));
}

async function authLogin(send: SendSecret, { user, password }: SmtpCredentials) {
  return (
    requireCode(334, await send('AUTH LOGIN', '')) ??
    requireCode(334, await send('', base64(user))) ??
    requireCode(235, await send('', base64(password)))
  );
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function requireCode(code: number, answer: ReceivedReply | SmtpFailure): SmtpFailure | undefined {
  if ('kind' in answer) return answer;
  const { reply } = answer;
  if (reply.code === code) return undefined;
  if (reply.code >= 400) return smtpRejection('auth', reply);
  return smtpError('protocol_error', 'auth', `Unexpected reply to AUTH: ${reply.code}`);
}
