import { hkdfSync } from 'node:crypto';
import { isIP } from 'node:net';
import { isIpOrCidr } from '../lib/net/cidr.ts';

/** One setting: its name is its key in the table of variables. */
export interface Variable<T> {
  group: string;
  /** What it is for, as the README tells it. */
  says: string;
  /** What may be written there, as the README and a mistake tell it. */
  takes: string;
  /** Used when the variable is unset or empty. */
  standard: T;
  /** The default as people read it. */
  standardText: string;
  /** Its value is never repeated, not even in a mistake. */
  secret: boolean;
  /** Undefined when the text is not what it takes. */
  parse(text: string): T | undefined;
}

interface Told {
  says: string;
  standardText?: string;
}

export function integer(told: Told & { standard: number; min: number; max?: number }) {
  const { min, max = Number.MAX_SAFE_INTEGER } = told;
  const range =
    max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `between ${min} and ${max}`;
  return variable(told, `a whole number ${range}`, (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

const BYTE_UNITS: Record<string, number> = { '': 1, KIB: 1024, MIB: 1024 ** 2, GIB: 1024 ** 3 };

export function bytes(told: Told & { standard: number; min: number }) {
  return variable(
    told,
    `a number of bytes such as 65536, 64KiB or 2MiB, at least ${told.min}`,
    (text) => {
      const match = /^([0-9]{1,12}) ?(|KiB|MiB|GiB)$/i.exec(text);
      const value = Number(match?.[1]) * (BYTE_UNITS[match?.[2]?.toUpperCase() ?? ''] ?? 0);
      return value >= told.min && Number.isSafeInteger(value) ? value : undefined;
    },
  );
}

export function yesNo(told: Told & { standard: boolean }) {
  return variable(told, 'true or false', (text) =>
    /^(true|1|yes)$/i.test(text) ? true : /^(false|0|no)$/i.test(text) ? false : undefined,
  );
}

export function oneOf<T extends string>(told: Told & { standard: T; values: readonly T[] }) {
  return variable(told, `one of ${told.values.join(', ')}`, (text) =>
    told.values.find((value) => value === text),
  );
}

export function someOf<T extends string>(
  told: Told & { standard: ReadonlySet<T>; values: readonly T[] },
) {
  return variable(told, `some of ${told.values.join(', ')}, separated by commas`, (text) => {
    const chosen = listed(text).map((item) => told.values.find((value) => value === item));
    if (chosen.length === 0 || chosen.includes(undefined)) return undefined;
    return new Set(chosen as T[]) as ReadonlySet<T>;
  });
}

export function text<T extends string | undefined>(
  told: Told & { standard: T; takes: string; accepts?: RegExp },
) {
  return variable<T | string>(told, told.takes, (value) =>
    (told.accepts ?? /^[^\0]+$/).test(value) ? value : undefined,
  );
}

export function webAddress(told: Told) {
  return variable<string | undefined>(
    { ...told, standard: undefined },
    'an http or https address without a path, such as https://mail.example.com',
    (value) => {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      const plain = url && url.pathname === '/' && !url.search && !url.hash && !url.username;
      return plain && /^https?:$/.test(url.protocol) ? url.origin : undefined;
    },
  );
}

export function networks(told: Told) {
  return variable<readonly string[]>(
    { ...told, standard: [] },
    'addresses or networks such as 10.0.0.0/8, separated by commas',
    (value) => {
      const items = listed(value);
      return items.length > 0 && items.every(isIpOrCidr) ? items : undefined;
    },
  );
}

/** A share, written in percent. */
export function percent(told: Told & { standard: number }) {
  return variable(told, 'a percentage from 0 to 100, such as 0.3', (text) => {
    const value = /^[0-9]{1,3}(\.[0-9]{1,4})?$/.test(text) ? Number(text) : Number.NaN;
    return value >= 0 && value <= 100 ? value : undefined;
  });
}

export interface PortRange {
  from: number;
  to: number;
}

export function ports(told: Told & { standard: readonly PortRange[] }) {
  return variable<readonly PortRange[]>(
    told,
    'ports or ranges such as 443 or 8000-8999, separated by commas',
    (value) => {
      const ranges = listed(value).map((item) => {
        const [, from = '', to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(item) ?? [];
        return { from: Number(from), to: Number(to) };
      });
      const good = ranges.every(({ from, to }) => from >= 1 && to <= 65_535 && from <= to);
      return good && ranges.length > 0 ? ranges : undefined;
    },
  );
}

export interface ServerPlace {
  host: string;
  port: number;
}

export function servers(told: Told & { port: number }) {
  return variable<readonly ServerPlace[]>(
    { ...told, standard: [] },
    'addresses such as 192.0.2.53, 127.0.0.1:5354 or [::1]:5354, separated by commas',
    (value) => {
      const places = listed(value).map((item) => serverPlace(item, told.port));
      if (places.length === 0 || places.includes(undefined)) return undefined;
      return places as ServerPlace[];
    },
  );
}

/** 32 bytes from what the operator has: hex or base64 of them, or any text of good length. */
export function key(told: Told) {
  const made = variable<Buffer | undefined>(
    { ...told, standard: undefined },
    'at least 32 characters that nobody can guess, such as the output of "openssl rand -hex 32"',
    (value) => {
      if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
      if (/^[A-Za-z0-9+/]{43}=?$/.test(value)) return Buffer.from(value, 'base64');
      if (value.length < 32) return undefined;
      return Buffer.from(hkdfSync('sha256', value, '', 'postrider secret key', 32));
    },
  );
  return { ...made, secret: true };
}

export function variable<T>(
  told: Told & { standard: T },
  takes: string,
  parse: (text: string) => T | undefined,
): Variable<T> {
  return {
    group: '',
    says: told.says,
    takes,
    standard: told.standard,
    standardText: told.standardText ?? String(told.standard ?? 'unset'),
    secret: false,
    parse,
  };
}

export function listed(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function serverPlace(item: string, standardPort: number): ServerPlace | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)|([0-9a-f:]+:[0-9a-f:]*))(?::([0-9]{1,5}))?$/i.exec(
    item,
  );
  const whole = isIP(item) ? item : undefined;
  const host = whole ?? match?.[1] ?? match?.[2];
  const port = whole || match?.[4] === undefined ? standardPort : Number(match[4]);
  if (!host || !isIP(host) || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

export function portOrOff(told: {
  says: string;
  standard: number | 'off';
}): Variable<number | 'off'> {
  return variable<number | 'off'>(told, 'a port between 0 and 65535, or off', (given) => {
    if (/^off$/i.test(given)) return 'off';
    const port = /^[0-9]{1,5}$/.test(given) ? Number(given) : Number.NaN;
    return port <= 65_535 ? port : undefined;
  });
}
