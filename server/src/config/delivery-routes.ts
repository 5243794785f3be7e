import {
  namedAddresses,
  type OutgoingAddresses,
  parseOutgoingAddresses,
} from './outgoing-addresses.ts';
import { HOST_NAME, type Setting, setting, splitList } from './setting-types.ts';

/** How live mail is delivered: directly to the receivers' mail servers, or through a relay. */
export type RouteConfig =
  | { kind: 'direct'; source?: RouteSource; warmUp?: WarmUpConfig }
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

/** The warm-up of the addresses of a direct route, as it was entered. */
export interface WarmUpConfig {
  /** The date of the first day. */
  readonly startsOn: string;
  /** The day of the plan to begin with; undefined for the first one. */
  readonly startDay: string | undefined;
  /** The route of mail beyond the cap, or `none`. */
  readonly overflow: string | undefined;
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

interface RouteSettings extends SourceSettings {
  readonly routes: readonly RouteConfig[];
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

/** A route whose addresses are warmed up. */
export interface WarmUpRoute {
  /** Null is the standard route. */
  readonly route: string | null;
  readonly setting: 'DELIVERY_ROUTE' | 'STREAM_ROUTES';
  /** The addresses that mail is sent from. Where the system chooses one, the HELO name. */
  readonly sender: string;
  /** NaN if it is not a date, which prevents the start. */
  readonly startsAtMs: number;
  readonly startsOn: string;
  /** The day of the plan to begin with. NaN if there is no such day, which prevents the start. */
  readonly startDay: number;
  /** The route of mail beyond the cap: null is the standard route, undefined means that mail waits. */
  readonly overflow: string | null | undefined;
}

export function warmUpRoutes(settings: RouteSettings): WarmUpRoute[] {
  const { routes: standard, streamRoutes } = settings;
  const standardOverflow = warmUpOf(standard[0])?.overflow;
  const found = [
    ...standard.map((config) => ({ route: null, setting: 'DELIVERY_ROUTE' as const, config })),
    ...Object.entries(streamRoutes).map(([route, config]) => ({
      route,
      setting: 'STREAM_ROUTES' as const,
      config,
    })),
  ];
  return found.flatMap(({ route, setting: name, config }): WarmUpRoute[] => {
    const warmUp = warmUpOf(config);
    if (!warmUp) return [];
    const { outgoing, heloName } = mailSource(config, settings);
    // What exceeds the cap of a stream does not go to another address that is being warmed up.
    const otherwise = route === null || warmUpOf(standard[0]) ? standardOverflow : null;
    const overflow = warmUp.overflow ?? otherwise;
    return [
      {
        route,
        setting: name,
        sender: namedAddresses(outgoing).join(' ') || heloName,
        startsAtMs: parseDate(warmUp.startsOn),
        startsOn: warmUp.startsOn,
        startDay: parseDay(warmUp.startDay ?? '1'),
        overflow: overflow === 'none' ? undefined : overflow,
      },
    ];
  });
}

/** Combinations of routes that are not possible. */
export function warmUpErrors(settings: RouteSettings): string[] {
  const { routes: standard, streamRoutes } = settings;
  const warming = warmUpRoutes(settings);
  const errors = warming.flatMap((one) => {
    const { route, setting: name, startsAtMs, startsOn, startDay, overflow } = one;
    const subject = `${name}: the warm-up${route === null ? '' : ` of ${route}`}`;
    const found: string[] = [];
    if (Number.isNaN(startsAtMs))
      found.push(`${subject} starts on "${startsOn}". Expected a date such as 2026-11-20.`);
    if (Number.isNaN(startDay))
      found.push(`${subject} begins on an unknown day. Expected day=1 to day=${WARM_UP_DAYS}.`);
    if (typeof overflow !== 'string') return found;
    if (!Object.hasOwn(streamRoutes, overflow))
      found.push(
        `${subject} has the overflow "${overflow}". Expected a route in STREAM_ROUTES, or none.`,
      );
    else if (warmUpOf(streamRoutes[overflow]))
      found.push(`${subject} has the overflow "${overflow}", which has a warm-up itself.`);
    return found;
  });
  if (standard.length > 1 && standard.some((one) => warmUpOf(one)))
    errors.push(
      'DELIVERY_ROUTE: a route with a warm-up cannot have fallbacks. Name the other route in STREAM_ROUTES, and use it as overflow.',
    );
  return errors;
}

function warmUpOf(route: RouteConfig | undefined): WarmUpConfig | undefined {
  return route?.kind === 'direct' ? route.warmUp : undefined;
}

/** The start of a day in UTC. */
function parseDate(text: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  // Some months have no 31st; Date.parse returns a day of the next one.
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text) ? ms : Number.NaN;
}

/** The days of the plan in delivery/warm-up/warm-up-plan.ts. */
export const WARM_UP_DAYS = 30;

function parseDay(text: string): number {
  const day = /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN;
  return day >= 1 && day <= WARM_UP_DAYS ? day : Number.NaN;
}

export function routes(text: { description: string }): Setting<readonly RouteConfig[]> {
  const base = setting<readonly RouteConfig[]>(
    { ...text, default: [{ kind: 'direct' }], defaultText: 'direct' },
    '`direct`, a relay such as `smtp://user:password@host:port` (`smtps://` for implicit TLS, `?tls=required` to require STARTTLS), or several as fallbacks, separated by commas; percent-encode special characters in the password; `direct?warmup=2026-11-20` [warms up](production.md#warming-up-an-address) `OUTGOING_ADDRESSES` from that day on, with `&overflow=name` for the rest',
    (value) => {
      const parsed = splitList(value).map((one) => warmedUpDirect(one) ?? route(one));
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
    '`name=route`, several separated by commas; names have lowercase letters, digits, hyphens and underscores; a route is as in `DELIVERY_ROUTE`, or `direct?address=203.0.113.8&helo=mail2.example.com` to send from another address; `&warmup=2026-11-20` [warms it up](production.md#warming-up-an-address) from that day on, and `&overflow=name` names the route of the rest, or `none`',
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

/** A direct route with parameters. */
function directFrom(text: string): RouteConfig | undefined {
  const parameters = directParameters(text, ['address', 'helo', ...WARM_UP_PARAMETERS]);
  if (!parameters) return undefined;
  const outgoing = parseOutgoingAddresses(parameters.getAll('address'));
  const [heloName, ...moreNames] = parameters.getAll('helo');
  if (!outgoing || moreNames.length > 0) return undefined;
  if (heloName !== undefined && !HOST_NAME.test(heloName)) return undefined;
  const source = { outgoing, heloName };
  if (!WARM_UP_PARAMETERS.some((name) => parameters.has(name))) return { kind: 'direct', source };
  const warmUp = warmUpFrom(parameters);
  return warmUp && { kind: 'direct', source, warmUp };
}

/** The standard route has the addresses and the name of `OUTGOING_ADDRESSES` and `HELO_NAME`. */
function warmedUpDirect(text: string): RouteConfig | undefined {
  const parameters = directParameters(text, WARM_UP_PARAMETERS);
  const warmUp = parameters && warmUpFrom(parameters);
  return warmUp && { kind: 'direct', warmUp };
}

const WARM_UP_PARAMETERS = ['warmup', 'day', 'overflow'] as const;

function directParameters(text: string, known: readonly string[]): URLSearchParams | undefined {
  if (!text.startsWith('direct?')) return undefined;
  const parameters = new URLSearchParams(text.slice('direct?'.length));
  return [...parameters.keys()].every((key) => known.includes(key)) ? parameters : undefined;
}

function warmUpFrom(parameters: URLSearchParams): WarmUpConfig | undefined {
  const [startsOn, ...moreDates] = parameters.getAll('warmup');
  const [startDay, ...moreDays] = parameters.getAll('day');
  const [overflow, ...moreRoutes] = parameters.getAll('overflow');
  const repeated = [...moreDates, ...moreDays, ...moreRoutes];
  if (startsOn === undefined || repeated.length > 0) return undefined;
  return { startsOn, startDay, overflow };
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
