import { SESSION_MAX_MS } from '../../accounts/people/sessions.ts';

/**
 * The session cookie. Scripts cannot read it and other sites cannot have it sent. If the base
 * URL is https, the `__Host-` prefix makes browsers accept it only over TLS and only from this
 * host.
 */
export interface SessionCookie {
  name: string;
  /** Returns the session token in a Cookie header. */
  read(header: string | undefined): string | undefined;
  /** Returns the value of a Set-Cookie header. */
  set(token: string): string;
  clear(): string;
}

export function createSessionCookie(baseUrl: string): SessionCookie {
  const secure = baseUrl.startsWith('https:');
  const name = secure ? '__Host-postrider_session' : 'postrider_session';
  const attributes = `Path=/; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
  return {
    name,
    read: (header) => findCookie(header ?? '', name),
    set: (token) => `${name}=${token}; Max-Age=${SESSION_MAX_MS / 1000}; ${attributes}`,
    clear: () => `${name}=; Max-Age=0; ${attributes}`,
  };
}

/** The value of a cookie in a Cookie header; undefined if it is missing or empty. */
export function findCookie(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const [key = '', value = ''] = pair.split('=', 2);
    if (key.trim() === name && value.trim() !== '') return value.trim();
  }
  return undefined;
}
