import { escapeHtml } from '../../lib/html/escape-html.ts';
import { ContentLimitError } from '../engine/content-errors.ts';
import type { Variable } from '../variables/infer-variables.ts';

/**
 * Removes the secret values of a send from everything shown later: logs, events, API responses and
 * the dashboard. A value is found in every form that rendering can produce: as is, escaped for HTML,
 * and encoded for URLs or JSON.
 */

export const REDACTED = '[redacted]';

export interface Redactor {
  text(text: string): string;
  /** A copy of a JSON value with all strings, including keys, redacted. */
  json<T>(value: T): T;
}

const SECRETS_MAX = 200;
/** Shorter values are only redacted as whole words; otherwise every `7` would disappear. */
const SUBSTRING_MIN_CHARS = 4;
const DEPTH_MAX = 64;
const STEPS_MAX = 1_000_000;
/** Total for all encodings: regular expressions cannot be arbitrarily large. */
const FORMS_CHARS_MAX = 64 * 1024;
/** In the worst case every encoding is compared at every position of the text. */
const COMPARISONS_MAX = 500_000_000;

export function createRedactor(secrets: Iterable<unknown>): Redactor {
  const forms = longestFirst(secretTexts(secrets));
  // Too many encodings to search for: redact everything rather than leak a secret.
  const tooMany = forms.reduce((sum, form) => sum + form.length, 0) > FORMS_CHARS_MAX;
  const pattern = tooMany ? undefined : patternFor(forms);
  const longest = forms[0]?.length ?? 0;
  const text = (input: string): string => {
    if (tooMany || input.length * longest > COMPARISONS_MAX) return input && REDACTED;
    return pattern ? input.replace(pattern, REDACTED) : input;
  };
  return { text, json: <T>(value: T): T => redactJson(value, text, 0) as T };
}

/** The values of the variables declared secret. */
export function secretValues(
  variables: readonly Pick<Variable, 'name' | 'secret' | 'default'>[],
  values: Readonly<Record<string, unknown>>,
): unknown[] {
  const steps = { left: STEPS_MAX };
  return variables
    .filter(({ secret }) => secret === true)
    .flatMap(({ name, default: preset }) => [
      ...valuesAt([values], name.replaceAll('[]', '.[]').split('.'), steps),
      preset,
    ])
    .filter((value) => value !== undefined && value !== null);
}

/** `plain` replaces every secret with a word; `typed` replaces numbers and dates with dummy values of that type. */
export type Mask = 'plain' | 'typed';

/**
 * The same values with every secret string and number replaced, so that whatever is rendered from
 * them contains no part of a secret, regardless of filters. The input is not modified.
 */
export function withoutSecrets(
  variables: readonly Pick<Variable, 'name' | 'secret' | 'type'>[],
  values: Readonly<Record<string, unknown>>,
  mask: Mask,
): Readonly<Record<string, unknown>> {
  const types =
    mask === 'typed' ? new Map(variables.map(({ name, type }) => [name, type])) : NO_TYPES;
  const state: MaskState = { types, copies: new Set(), steps: { left: STEPS_MAX } };
  return variables
    .filter(({ secret }) => secret === true)
    .reduce(
      (masked, { name }) =>
        maskAt(masked, name.replaceAll('[]', '.[]').split('.'), '', state) as typeof values,
      values,
    );
}

interface MaskState {
  types: Types;
  /** Objects that were already copied, so that each is copied once even when it holds many secrets. */
  copies: Set<object>;
  steps: StepBudget;
}

/** Bounds the work for long lists with many secrets in each item. */
interface StepBudget {
  left: number;
}

function spendSteps(steps: StepBudget, count: number): void {
  steps.left -= count;
  if (steps.left >= 0) return;
  const detail = 'The lists are too long to find all secrets in them.';
  throw new ContentLimitError('template_variables', detail);
}

type Types = ReadonlyMap<string, Variable['type']>;
const NO_TYPES: Types = new Map();

function maskAt(
  target: unknown,
  path: readonly string[],
  walked: string,
  state: MaskState,
): unknown {
  const { types, copies, steps } = state;
  spendSteps(steps, 1);
  const [step, ...rest] = path;
  if (step === undefined) return masked(target, walked, types, 0);
  if (typeof target !== 'object' || target === null) return target;
  if (step === '[]') {
    if (!Array.isArray(target)) return target;
    const items = copies.has(target) ? target : [...target];
    copies.add(items);
    for (const [index, item] of items.entries()) {
      items[index] = maskAt(item, rest, `${walked}[]`, state);
    }
    return items;
  }
  if (!Object.hasOwn(target, step)) return target;
  const record = (copies.has(target) ? target : { ...target }) as Record<string, unknown>;
  copies.add(record);
  record[step] = maskAt(record[step], rest, childPath(walked, step), state);
  return record;
}

function masked(value: unknown, path: string, types: Types, depth: number): unknown {
  if (depth >= DEPTH_MAX) return REDACTED;
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint') {
    if (value === '') return value;
    const type = types.get(path);
    return type === 'number' ? 0 : type === 'date' ? MASKED_DATE : REDACTED;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    return value.map((item) => masked(item, `${path}[]`, types, depth + 1));
  }
  const entries = Object.entries(value).map(([key, inner]) => [
    key,
    masked(inner, childPath(path, key), types, depth + 1),
  ]);
  return Object.fromEntries(entries);
}

const MASKED_DATE = '1970-01-01T00:00:00Z';

function childPath(path: string, step: string): string {
  return path === '' ? step : `${path}.${step}`;
}

function valuesAt(
  targets: readonly unknown[],
  path: readonly string[],
  steps: StepBudget,
): unknown[] {
  const [step, ...rest] = path;
  spendSteps(steps, targets.length);
  if (step === undefined) return [...targets];
  const next = targets.flatMap((target) => {
    if (step === '[]') return Array.isArray(target) ? target : [];
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, step)) return [];
    return [(target as Record<string, unknown>)[step]];
  });
  return valuesAt(next, rest, steps);
}

/** The strings inside secret values at any depth. */
function secretTexts(secrets: Iterable<unknown>): string[] {
  const found = new Set<string>();
  const pending: unknown[] = [...secrets];
  while (pending.length > 0 && found.size < SECRETS_MAX) {
    const value = pending.pop();
    if (typeof value === 'string') found.add(value.trim());
    else if (typeof value === 'number' || typeof value === 'bigint') found.add(String(value));
    else if (typeof value === 'object' && value !== null) pending.push(...Object.values(value));
  }
  found.delete('');
  return [...found];
}

/** Every encoding of every secret, longest first because a secret may contain another one. */
function longestFirst(secrets: readonly string[]): string[] {
  const chars = secrets.reduce((sum, secret) => sum + secret.length, 0);
  if (chars > FORMS_CHARS_MAX) return [...secrets];
  return [...new Set(secrets.flatMap(encodingsOf))].sort((a, b) => b.length - a.length);
}

function patternFor(forms: readonly string[]): RegExp | undefined {
  if (forms.length === 0) return undefined;
  const alternatives = forms.map((form) => {
    const literal = form.replace(/[\^$\\.*+?()[\]{}|/]/g, '\\$&');
    return form.length >= SUBSTRING_MIN_CHARS
      ? literal
      : `(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`;
  });
  return new RegExp(alternatives.join('|'), 'gu');
}

function encodingsOf(secret: string): string[] {
  const whole = secret.toWellFormed();
  const component = encodeURIComponent(whole);
  const encoded = [component, component.replaceAll('%20', '+'), encodeURI(whole)];
  const lowerHex = encoded.map((form) => form.replace(/%[0-9A-F]{2}/g, (hex) => hex.toLowerCase()));
  const plain = [secret, whole, ...encoded, ...lowerHex];
  const html = plain.flatMap((form) => [
    escapeHtml(form),
    alternateEntities(form),
    escapeHtml(form).replaceAll('-', '&#45;'),
  ]);
  const json = [...plain, ...html].map((form) => JSON.stringify(form).slice(1, -1));
  const oneLine = secret.replace(/\s+/g, ' ');
  const cased = [secret.toUpperCase(), secret.toLowerCase()];
  return [...plain, ...html, ...json, oneLine, ...cased].filter((form) => form !== '');
}

/** The entities that other HTML encoders use for the same characters. */
function alternateEntities(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;')
    .replaceAll("'", '&apos;');
}

function redactJson(value: unknown, text: (input: string) => string, depth: number): unknown {
  if (typeof value === 'string') return text(value);
  if (typeof value === 'number' || typeof value === 'bigint') {
    const shown = String(value);
    return shown.length >= SUBSTRING_MIN_CHARS && text(shown) !== shown ? REDACTED : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  // Legitimate values are never this deep, and unexamined values must not be shown.
  if (depth >= DEPTH_MAX) return REDACTED;
  if (Array.isArray(value)) return value.map((item) => redactJson(item, text, depth + 1));
  if (Object.getPrototypeOf(value) !== Object.prototype && Object.getPrototypeOf(value) !== null) {
    return value;
  }
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [
    text(key),
    redactJson(inner, text, depth + 1),
  ]);
  return Object.fromEntries(entries);
}
