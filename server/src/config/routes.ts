import { listed, type Variable, variable } from './kinds.ts';

/** How mail leaves: straight to the receivers' servers, or through a relay. */
export type RouteConfig =
  | { kind: 'direct' }
  | {
      kind: 'relay';
      host: string;
      port: number;
      /** `implicit`: TLS from the first byte; `required`: STARTTLS or nothing. */
      tls: 'opportunistic' | 'required' | 'implicit';
      auth: { user: string; password: string } | undefined;
    };

export function routes(told: { says: string }): Variable<readonly RouteConfig[]> {
  const made = variable<readonly RouteConfig[]>(
    { ...told, standard: [{ kind: 'direct' }], standardText: 'direct' },
    'direct, or smtp://user:password@host:port (smtps:// for TLS from the start, ?tls=required to insist on STARTTLS), or several as fallbacks, separated by commas; write special characters in a password as %2C and the like',
    (text) => {
      const parsed = listed(text).map(route);
      if (parsed.length === 0 || parsed.includes(undefined)) return undefined;
      return parsed as RouteConfig[];
    },
  );
  // It carries the relay's password.
  return { ...made, secret: true };
}

function route(text: string): RouteConfig | undefined {
  if (text === 'direct') return { kind: 'direct' };
  // URL() treats unknown schemes loosely; borrowing a known one gets the host checked.
  const match = /^(smtps?):\/\/(.+)$/i.exec(text);
  const borrowed = `http://${match?.[2]}`;
  if (!match || !URL.canParse(borrowed)) return undefined;
  const url = new URL(borrowed);
  const implicit = match[1]?.toLowerCase() === 'smtps';
  const wanted = url.searchParams.get('tls');
  const bare =
    url.pathname === '/' && !url.hash && /^(\?tls=(required|opportunistic))?$/.test(url.search);
  if (!bare || (implicit && wanted !== null) || (url.password && !url.username)) return undefined;
  return {
    kind: 'relay',
    host: url.hostname.replace(/^\[(.+)\]$/, '$1'),
    port: portOf(match[2] as string) ?? (implicit ? 465 : 587),
    tls: implicit ? 'implicit' : wanted === 'required' ? 'required' : 'opportunistic',
    auth: url.username
      ? { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) }
      : undefined,
  };
}

/** URL() drops 80 as the borrowed scheme's own. */
function portOf(authority: string): number | undefined {
  const digits = /:([0-9]+)\/?(?:\?.*)?$/.exec(authority)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
