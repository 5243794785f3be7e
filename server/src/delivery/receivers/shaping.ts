import shipped from './shaping.json' with { type: 'json' };

/**
 * How much mail a receiver gets at a time. The default rules are in shaping.json, and an operator's
 * rules take precedence. Rules match the name of the mail server, because a few large providers
 * serve thousands of domains. All servers that match a rule are one receiver with common limits:
 * Microsoft 365 has a server name for each customer. Limits are upper bounds: the engine adapts to
 * each receiver below them.
 */
export interface Shaping {
  /** The name of the rule; null when only the defaults apply. */
  provider: string | null;
  connectionsMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
  /** Null: no rate limit. */
  messagesPerMinute: number | null;
}

/** The format of shaping.json and of an operator's file. */
export interface ShapingRules {
  default?: Partial<ShapingNumbers>;
  receivers?: (Partial<ShapingNumbers> & { name: string; mx: string[] })[];
}

interface ShapingNumbers {
  connectionsMax: number;
  messagesPerConnectionMax: number;
  idleSeconds: number;
  messagesPerMinute: number | null;
}

export type ShapingFor = (mxHost: string) => Shaping;

export function createShaping(operators: ShapingRules = {}): ShapingFor {
  const defaults = { ...SHIPPED.default, ...operators.default };
  const receivers = [...(operators.receivers ?? []), ...(SHIPPED.receivers ?? [])];
  const shapingOf = (mxHost: string): Shaping => {
    const rule = receivers.find(({ mx }) => mx.some((pattern) => matches(pattern, mxHost)));
    const { idleSeconds, ...numbers } = { ...defaults, ...limitsOf(rule) };
    return { ...numbers, idleMs: idleSeconds * 1000, provider: rule?.name ?? null };
  };
  // Every message asks, mostly about the same hosts.
  const known = new Map<string, Shaping>();
  return (mxHost) => {
    let shaping = known.get(mxHost);
    if (!shaping) {
      if (known.size >= KNOWN_HOSTS_MAX) known.clear();
      shaping = shapingOf(mxHost);
      known.set(mxHost, shaping);
    }
    return shaping;
  };
}

const KNOWN_HOSTS_MAX = 1_000;

/** The errors in an operator's file; empty when it is valid. */
export function shapingErrors(rules: unknown): string[] {
  if (typeof rules !== 'object' || rules === null) return ['Must be an object.'];
  const { default: defaults, receivers, ...rest } = rules as Record<string, unknown>;
  const errors = Object.keys(rest).map((name) => `Unknown field "${name}".`);
  if (defaults !== undefined) errors.push(...numberErrors('default', defaults));
  if (receivers === undefined) return errors;
  if (!Array.isArray(receivers)) return [...errors, 'receivers must be an array.'];
  receivers.forEach((rule: unknown, index) => {
    const { name, mx, ...numbers } = (rule ?? {}) as Record<string, unknown>;
    const at = `receivers[${index}]`;
    if (typeof name !== 'string') errors.push(`${at}.name must be a string.`);
    const patterns = Array.isArray(mx) && mx.every((pattern) => typeof pattern === 'string');
    if (!patterns) errors.push(`${at}.mx must be an array of host names such as "*.example.com".`);
    errors.push(...numberErrors(at, numbers));
  });
  return errors;
}

const SHIPPED = shipped as ShapingRules & { default: ShapingNumbers };

function limitsOf(rule: (Partial<ShapingNumbers> & { name: string; mx: string[] }) | undefined) {
  if (!rule) return {};
  const { name: _name, mx: _mx, ...numbers } = rule;
  return numbers;
}

function matches(pattern: string, host: string): boolean {
  if (!pattern.startsWith('*.')) return pattern === host;
  return host.endsWith(pattern.slice(1));
}

function numberErrors(at: string, numbers: unknown): string[] {
  if (typeof numbers !== 'object' || numbers === null) return [`${at} must be an object.`];
  return Object.entries(numbers).flatMap(([name, value]) => {
    if (!(name in SHIPPED.default)) return [`Unknown field ${at}.${name}.`];
    if (name === 'messagesPerMinute' && value === null) return [];
    const fits = typeof value === 'number' && Number.isFinite(value) && value >= 1;
    return fits ? [] : [`${at}.${name} must be a number of at least 1.`];
  });
}
