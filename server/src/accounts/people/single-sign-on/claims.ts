import { groupsIn } from './connection.ts';
import { SignInFailure } from './sign-in-failure.ts';

/** What a provider says about a person. */
export interface Claims {
  subject: string;
  email: string | undefined;
  emailVerified: boolean | undefined;
  name: string | undefined;
  groups: string[];
}

type Found = Readonly<Record<string, unknown>>;

/** OpenID Connect Core 1.0 section 2: at most 255 ASCII characters. */
const SUBJECT = /^[\x20-\x7e]{1,255}$/;

/**
 * Reads the claims of the ID token and, where it lacks some, of the user info. Throws a SignInFailure if
 * the subject cannot identify anyone.
 */
export function toClaims(idToken: Found, userInfo: Found, groupsClaim: string): Claims {
  const found = { ...userInfo, ...idToken };
  const { sub } = found;
  if (typeof sub !== 'string' || !SUBJECT.test(sub)) throw new SignInFailure('invalid_response');
  return {
    subject: sub,
    ...emailIn(idToken, userInfo),
    name: textIn(found, 'name') ?? textIn(found, 'preferred_username'),
    groups: groupsIn(found[groupsClaim]),
  };
}

/** The address and whether it is verified are from the same source: the two may name another address. */
function emailIn(idToken: Found, userInfo: Found): Pick<Claims, 'email' | 'emailVerified'> {
  const sources = [idToken, userInfo];
  const source =
    sources.find(({ email, email_verified: verified }) => email && verified !== undefined) ??
    sources.find(({ email }) => email) ??
    idToken;
  const { email_verified: verified } = source;
  return {
    email: textIn(source, 'email'),
    // Some providers write booleans as text.
    emailVerified: verified === undefined ? undefined : verified === true || verified === 'true',
  };
}

function textIn(found: Found, name: string): string | undefined {
  const value = found[name];
  const text = typeof value === 'string' ? value.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim() : '';
  return text === '' ? undefined : text;
}
