import { type CompatProvider, prefixOf } from '../compat-provider.ts';

export function pageUrl(baseUrl: string, path: string, query: Record<string, string> = {}): string {
  const url = new URL(`${prefixOf(MAILGUN)}${path}`, baseUrl);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url.href;
}

export const MAILGUN = { name: 'mailgun', title: 'Mailgun' } satisfies Partial<CompatProvider>;
