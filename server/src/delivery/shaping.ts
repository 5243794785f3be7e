import shipped from './shaping.json' with { type: 'json' };

/**
 * How much of our mail a receiver gets at a time. The rules come with the release (shaping.json) and
 * an operator may put his own in front; they are matched by the name of the mail server, because
 * thousands of domains stand behind a few large providers. Limits are upper bounds: the engine finds
 * the receiver's own pace below them.
 */
export interface Shaping {
  connectionsMax: number;
  messagesPerConnectionMax: number;
  idleMs: number;
  /** Null: as fast as the receiver takes it. */
  messagesPerMinute: number | null;
}

/** The form of shaping.json and of an operator's file. */
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
  const standard = { ...SHIPPED.default, ...operators.default };
  const receivers = [...(operators.receivers ?? []), ...(SHIPPED.receivers ?? [])];
  return (mxHost) => {
    const rule = receivers.find(({ mx }) => mx.some((pattern) => matches(pattern, mxHost)));
    const { idleSeconds, ...numbers } = { ...standard, ...limitsOf(rule) };
    return { ...numbers, idleMs: idleSeconds * 1000 };
  };
}

/** What is wrong with an operator's file, in words; empty when nothing is. */
export function shapingErrors(rules: unknown): string[] {
  if (typeof rules !== 'object' || rules === null) return ['It must be an object.'];
  const { default: standard, receivers, ...rest } = rules as Record<string, unknown>;
  const faults = Object.keys(rest).map((name) => `"${name}" is not known.`);
  if (standard !== undefined) faults.push(...numberErrors('default', standard));
  if (receivers === undefined) return faults;
  if (!Array.isArray(receivers)) return [...faults, 'receivers must be an array.'];
  receivers.forEach((rule: unknown, index) => {
    const { name, mx, ...numbers } = (rule ?? {}) as Record<string, unknown>;
    const at = `receivers[${index}]`;
    if (typeof name !== 'string') faults.push(`${at}.name must be a text.`);
    const patterns = Array.isArray(mx) && mx.every((pattern) => typeof pattern === 'string');
    if (!patterns) faults.push(`${at}.mx must be an array of host names like "*.example.com".`);
    faults.push(...numberErrors(at, numbers));
  });
  return faults;
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
    if (!(name in SHIPPED.default)) return [`${at}.${name} is not known.`];
    if (name === 'messagesPerMinute' && value === null) return [];
    const fits = typeof value === 'number' && Number.isFinite(value) && value >= 1;
    return fits ? [] : [`${at}.${name} must be a number of at least 1.`];
  });
}
