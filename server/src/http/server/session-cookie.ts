import { SESSION_MAX_MS } from '../../accounts/people/sessions.ts';

/**
 * The cookie that carries a session. No script can read it, no other site can have it sent, and where
 * the application is reached by https it travels no other way: the `__Host-` prefix makes browsers
 * refuse it from anywhere else.
 */
export interface SessionCookie {
  name: string;
  /** The session's secret in a Cookie header. */
  read(header: string | undefined): string | undefined;
  /** The value of Set-Cookie. */
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

function findCookie(header: string, name: string): string | undefined {
  for (const pair of header.split(';')) {
    const [key = '', value = ''] = pair.split('=', 2);
    if (key.trim() === name && value.trim() !== '') return value.trim();
  }
  return undefined;
}
