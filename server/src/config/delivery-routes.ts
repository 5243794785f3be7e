import { type OutgoingAddresses, parseOutgoingAddresses } from './outgoing-addresses.ts';
import { HOST_NAME, type Setting, setting, splitList } from './setting-types.ts';

/** How live mail is delivered: directly to the receivers' mail servers, or through a relay. */
export type RouteConfig =
  | { kind: 'direct'; source?: RouteSource }
  | {
      kind: 'relay';
      host: string;
      port: number;
      /** `implicit` is TLS from the first byte; `required` fails unless the relay offers STARTTLS. */
      tls: 'opportunistic' | 'required' | 'implicit';
      auth: { user: string; password: string } | undefined;
    };

/** Where a direct route sends from, instead of `OUTGOING_ADDRESSES` and `HELO_NAME`. */
export interface RouteSource {
  readonly outgoing: OutgoingAddresses;
  /** Undefined: `HELO_NAME`. */
  readonly heloName: string | undefined;
}

/** Where mail is sent from, and the setting that says so. */
export interface MailSource {
  readonly setting: string;
  readonly outgoing: OutgoingAddresses;
  readonly heloName: string;
}

interface SourceSettings {
  readonly outgoing: OutgoingAddresses;
  readonly heloName: string;
  readonly streamRoutes: Readonly<Record<string, RouteConfig>>;
}

/** The source of mail on a route. */
export function mailSource(route: RouteConfig, settings: SourceSettings): MailSource {
  const { outgoing, heloName } = settings;
  if (route.kind === 'relay' || !route.source)
    return { setting: 'OUTGOING_ADDRESSES', outgoing, heloName };
  const { source } = route;
  return { setting: 'STREAM_ROUTES', ...source, heloName: source.heloName ?? heloName };
}

/** The source of mail on named routes that have their own. */
export function namedSources(settings: SourceSettings): MailSource[] {
  return Object.values(settings.streamRoutes)
    .filter((route) => route.kind === 'direct' && route.source !== undefined)
    .map((route) => mailSource(route, settings));
}

export function routes(text: { description: string }): Setting<readonly RouteConfig[]> {
  const base = setting<readonly RouteConfig[]>(
    { ...text, default: [{ kind: 'direct' }], defaultText: 'direct' },
    '`direct`, a relay such as `smtp://user:password@host:port` (`smtps://` for implicit TLS, `?tls=required` to require STARTTLS), or several as fallbacks, separated by commas; percent-encode special characters in the password',
    (value) => {
      const parsed = splitList(value).map(route);
      if (parsed.length === 0 || parsed.includes(undefined)) return undefined;
      return parsed as RouteConfig[];
    },
  );
  // The URL contains the relay's password.
  return { ...base, secret: true };
}

/** Routes that streams can name, beside the one of all mail. */
export function namedRoutes(text: {
  description: string;
}): Setting<Readonly<Record<string, RouteConfig>>> {
  const base = setting<Readonly<Record<string, RouteConfig>>>(
    { ...text, default: {}, defaultText: 'none' },
    '`name=route`, several separated by commas; names have lowercase letters, digits, hyphens and underscores; a route is as in `DELIVERY_ROUTE`, or `direct?address=203.0.113.8&helo=mail2.example.com` to send from another address',
    (value) => {
      const parsed = splitList(value).map((one) => {
        const [, name = '', target = ''] = /^([a-z0-9][a-z0-9_-]{0,63})=(.+)$/.exec(one) ?? [];
        return [name, directFrom(target) ?? route(target)] as const;
      });
      const names = new Set(parsed.map(([name]) => name));
      const isValid = parsed.every(([name, found]) => name !== '' && found !== undefined);
      if (!isValid || names.size < parsed.length) return undefined;
      return Object.fromEntries(parsed) as Record<string, RouteConfig>;
    },
  );
  return { ...base, secret: true };
}

function directFrom(text: string): RouteConfig | undefined {
  if (!text.startsWith('direct?')) return undefined;
  const parameters = new URLSearchParams(text.slice('direct?'.length));
  const outgoing = parseOutgoingAddresses(parameters.getAll('address'));
  const [heloName, ...moreNames] = parameters.getAll('helo');
  const isUnknown = [...parameters.keys()].some((key) => key !== 'address' && key !== 'helo');
  if (!outgoing || isUnknown || moreNames.length > 0) return undefined;
  if (heloName !== undefined && !HOST_NAME.test(heloName)) return undefined;
  return { kind: 'direct', source: { outgoing, heloName } };
}

function route(text: string): RouteConfig | undefined {
  if (text === 'direct') return { kind: 'direct' };
  // URL() does not validate the host of unknown schemes, so a known one is substituted.
  const match = /^(smtps?):\/\/(.+)$/i.exec(text);
  const asHttp = `http://${match?.[2]}`;
  if (!match || !URL.canParse(asHttp)) return undefined;
  const url = new URL(asHttp);
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

/** URL() omits port 80, the default of the substituted scheme. */
function portOf(authority: string): number | undefined {
  const digits = /:([0-9]+)\/?(?:\?.*)?$/.exec(authority)?.[1];
  return digits === undefined ? undefined : Number(digits);
}
