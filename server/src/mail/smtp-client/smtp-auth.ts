import type { ReceivedReply } from './reply-parser.ts';
import { refusal, type SmtpFailure, trouble } from './smtp-results.ts';

/** A user and password for a relay. */
export interface SmtpCredentials {
  user: string;
  password: string;
}

/**
 * Sends `prefix` and `secret` as one line and gives its reply. The two come apart so that whoever
 * writes the transcript never holds a line with a credential in it.
 */
export type AskSecretly = (prefix: string, secret: string) => Promise<ReceivedReply | SmtpFailure>;

/** Proves who we are by AUTH PLAIN (RFC 4616) or, for old relays, LOGIN. Undefined is success. */
export async function authenticate(
  ask: AskSecretly,
  mechanisms: ReadonlySet<string>,
  credentials: SmtpCredentials,
): Promise<SmtpFailure | undefined> {
  if (mechanisms.has('PLAIN')) return authPlain(ask, credentials);
  if (mechanisms.has('LOGIN')) return authLogin(ask, credentials);
  return trouble('auth_not_offered', 'auth', 'The relay offers neither AUTH PLAIN nor LOGIN.');
}

async function authPlain(ask: AskSecretly, { user, password }: SmtpCredentials) {
  return expecting(235, await ask('AUTH PLAIN ', base64(`\0${user}\0${password}`)));
}

async function authLogin(ask: AskSecretly, { user, password }: SmtpCredentials) {
  return (
    expecting(334, await ask('AUTH LOGIN', '')) ??
    expecting(334, await ask('', base64(user))) ??
    expecting(235, await ask('', base64(password)))
  );
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

function expecting(code: number, answer: ReceivedReply | SmtpFailure): SmtpFailure | undefined {
  if ('kind' in answer) return answer;
  const { reply } = answer;
  if (reply.code === code) return undefined;
  if (reply.code >= 400) return refusal('auth', reply);
  return trouble('protocol_error', 'auth', `An unexpected reply to AUTH: ${reply.code}`);
}
