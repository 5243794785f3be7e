import { hkdfSync } from 'node:crypto';
import { isIP } from 'node:net';
import { isIpOrCidr } from '../lib/net/ip-ranges.ts';

/** An environment variable. Its name is its key in `SETTINGS`. */
export interface Setting<T> {
  group: string;
  /** Shown in docs/configuration.md, with the format in place of `{format}`. */
  description: string;
  /** What a valid value looks like, for error messages and docs/configuration.md. */
  format: string;
  /** Used if the variable is unset or empty. */
  default: T;
  /** The default as shown in docs/configuration.md. */
  defaultText: string;
  /** The value is never shown, not even in error messages. */
  secret: boolean;
  /** Returns undefined if the text is invalid. */
  parse(text: string): T | undefined;
}

export const HOST_NAME =
  /^(?=.{1,253}$)[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

interface SettingText {
  description: string;
  defaultText?: string;
}

export function integer(spec: SettingText & { default: number; min: number; max?: number }) {
  const { min, max = Number.MAX_SAFE_INTEGER } = spec;
  const range =
    max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `between ${min} and ${max}`;
  return setting(spec, `a whole number ${range}`, (text) => {
    const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : undefined;
  });
}

const BYTE_UNITS: Record<string, number> = { '': 1, KIB: 1024, MIB: 1024 ** 2, GIB: 1024 ** 3 };

export function bytes(spec: SettingText & { default: number; min: number }) {
  return setting(
    spec,
    `a number of bytes such as 65536, 64KiB or 2MiB, at least ${spec.min}`,
    (text) => {
      const match = /^([0-9]{1,12}) ?(|KiB|MiB|GiB)$/i.exec(text);
      const value = Number(match?.[1]) * (BYTE_UNITS[match?.[2]?.toUpperCase() ?? ''] ?? 0);
      return value >= spec.min && Number.isSafeInteger(value) ? value : undefined;
    },
  );
}

export function boolean(spec: SettingText & { default: boolean }) {
  return setting(spec, 'true or false', (text) =>
    /^(true|1|yes)$/i.test(text) ? true : /^(false|0|no)$/i.test(text) ? false : undefined,
  );
}

export function oneOf<T extends string>(spec: SettingText & { default: T; values: readonly T[] }) {
  return setting(spec, `one of ${spec.values.join(', ')}`, (text) =>
    spec.values.find((value) => value === text),
  );
}

export function subsetOf<T extends string>(
  spec: SettingText & { default: ReadonlySet<T>; values: readonly T[] },
) {
  const format = `all, or one or more of ${spec.values.join(', ')}, separated by commas`;
  return setting(spec, format, (text) => {
    if (text.trim() === 'all') return new Set(spec.values) as ReadonlySet<T>;
    const chosen = splitList(text).map((item) => spec.values.find((value) => value === item));
    if (chosen.length === 0 || chosen.includes(undefined)) return undefined;
    return new Set(chosen as T[]) as ReadonlySet<T>;
  });
}

export function text<T extends string | undefined>(
  spec: SettingText & { default: T; format: string; accepts?: RegExp },
) {
  return setting<T | string>(spec, spec.format, (value) =>
    (spec.accepts ?? /^[^\0]+$/).test(value) ? value : undefined,
  );
}

export function webOrigin(spec: SettingText) {
  return setting<string | undefined>(
    { ...spec, default: undefined },
    'an http or https URL without a path, such as https://mail.example.com',
    (value) => {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      const plain = url && url.pathname === '/' && !url.search && !url.hash && !url.username;
      return plain && /^https?:$/.test(url.protocol) ? url.origin : undefined;
    },
  );
}

export function webUrl(spec: SettingText) {
  return setting<string | undefined>(
    { ...spec, default: undefined },
    'an http or https URL without a query, such as https://login.example.com/realms/staff',
    (value) => {
      const url = URL.canParse(value) ? new URL(value) : undefined;
      const plain = url && !url.search && !url.hash && !url.username;
      return plain && /^https?:$/.test(url.protocol) ? value : undefined;
    },
  );
}

/** `name=role` pairs. A name may contain anything but a comma. */
export function roleList<Role extends string>(spec: SettingText & { roles: readonly Role[] }) {
  return setting<readonly { group: string; role: Role }[]>(
    { ...spec, default: [], defaultText: 'none' },
    `groups and their roles such as engineers=${spec.roles[0]}, separated by commas; roles are ${spec.roles.join(', ')}`,
    (value) => {
      const pairs = splitList(value).map((item) => {
        const at = item.lastIndexOf('=');
        const role = spec.roles.find((one) => one === item.slice(at + 1).trim());
        const group = item.slice(0, Math.max(at, 0)).trim();
        return role !== undefined && group !== '' ? { group, role } : undefined;
      });
      const good = pairs.filter((pair) => pair !== undefined);
      return good.length > 0 && good.length === pairs.length ? good : undefined;
    },
  );
}

export function networks(spec: SettingText) {
  return setting<readonly string[]>(
    { ...spec, default: [] },
    'IP addresses or CIDR ranges such as 10.0.0.0/8, separated by commas',
    (value) => {
      const items = splitList(value);
      return items.length > 0 && items.every(isIpOrCidr) ? items : undefined;
    },
  );
}

export function percent(spec: SettingText & { default: number }) {
  return setting(spec, 'a percentage from 0 to 100, such as 0.3', (text) => {
    const value = /^[0-9]{1,3}(\.[0-9]{1,4})?$/.test(text) ? Number(text) : Number.NaN;
    return value >= 0 && value <= 100 ? value : undefined;
  });
}

export interface PortRange {
  from: number;
  to: number;
}

export function portRanges(spec: SettingText & { default: readonly PortRange[] }) {
  return setting<readonly PortRange[]>(
    spec,
    'ports or ranges such as 443 or 8000-8999, separated by commas',
    (value) => {
      const ranges = splitList(value).map((item) => {
        const [, from = '', to = from] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(item) ?? [];
        return { from: Number(from), to: Number(to) };
      });
      const good = ranges.every(({ from, to }) => from >= 1 && to <= 65_535 && from <= to);
      return good && ranges.length > 0 ? ranges : undefined;
    },
  );
}

export interface ServerAddress {
  host: string;
  port: number;
}

export function serverAddresses(spec: SettingText & { port: number }) {
  return setting<readonly ServerAddress[]>(
    { ...spec, default: [] },
    'IP addresses such as 192.0.2.53, 127.0.0.1:5354 or [::1]:5354, separated by commas',
    (value) => {
      const addresses = splitList(value).map((item) => parseServerAddress(item, spec.port));
      if (addresses.length === 0 || addresses.includes(undefined)) return undefined;
      return addresses as ServerAddress[];
    },
  );
}

/** A setting whose value is never printed. */
export function secret<T>(shown: Setting<T>): Setting<T> {
  return { ...shown, secret: true };
}

/** Derives 32 bytes from hex, base64, or any text of at least 32 characters. */
export function secretKey(spec: SettingText) {
  const base = setting<Buffer | undefined>(
    { ...spec, default: undefined },
    'at least 32 random characters, such as the output of "openssl rand -hex 32"',
    (value) => {
      if (/^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
      if (/^[A-Za-z0-9+/]{43}=?$/.test(value)) return Buffer.from(value, 'base64');
      if (value.length < 32) return undefined;
      return Buffer.from(hkdfSync('sha256', value, '', 'postrider secret key', 32));
    },
  );
  return secret(base);
}

export function setting<T>(
  spec: SettingText & { default: T },
  format: string,
  parse: (text: string) => T | undefined,
): Setting<T> {
  return {
    group: '',
    description: spec.description,
    format,
    default: spec.default,
    defaultText: spec.defaultText ?? String(spec.default ?? 'unset'),
    secret: false,
    parse,
  };
}

export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function parseServerAddress(item: string, defaultPort: number): ServerAddress | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([0-9.]+)|([0-9a-f:]+:[0-9a-f:]*))(?::([0-9]{1,5}))?$/i.exec(
    item,
  );
  const whole = isIP(item) ? item : undefined;
  const host = whole ?? match?.[1] ?? match?.[2];
  const port = whole || match?.[4] === undefined ? defaultPort : Number(match[4]);
  if (!host || !isIP(host) || port < 1 || port > 65_535) return undefined;
  return { host, port };
}

export function portOrOff(spec: {
  description: string;
  default: number | 'off';
}): Setting<number | 'off'> {
  return setting<number | 'off'>(spec, 'a port between 0 and 65535, or off', (given) => {
    if (/^off$/i.test(given)) return 'off';
    const port = /^[0-9]{1,5}$/.test(given) ? Number(given) : Number.NaN;
    return port <= 65_535 ? port : undefined;
  });
}
