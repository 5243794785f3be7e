import { Type } from 'typebox';
import { invalidFields } from '../../lib/refused-error.ts';
import { type CompatProvider, prefixOf } from '../compat-provider.ts';

export function pageUrl(baseUrl: string, path: string, query: Record<string, string> = {}): string {
  const url = new URL(`${prefixOf(MAILGUN)}${path}`, baseUrl);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

export const MAILGUN = { name: 'mailgun', title: 'Mailgun' } satisfies Partial<CompatProvider>;

/** Clients that follow a link add their limit to the one that the link has. */
export const Limit = Type.Optional(
  Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 2 })]),
);

export function limitOf(
  given: string | string[] | undefined,
  { otherwise, maximum }: { otherwise: number; maximum: number },
): number {
  const text = [given ?? []].flat().at(-1);
  if (text === undefined) return otherwise;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= maximum) return limit;
  const detail = `Must be an integer from 1 to ${maximum}.`;
  throw invalidFields([{ parameter: 'limit', code: 'out_of_range', detail }]);
}
