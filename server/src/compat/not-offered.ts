import { type CompatProvider, prefixOf } from './compat-provider.ts';

/** The reason why a provider's operation is not offered: its own one, or where to find what is. */
export function notOfferedReason(
  provider: Pick<CompatProvider, 'name' | 'title' | 'notOffered'>,
  baseUrl: string,
  method: string,
  url: string,
): string {
  const prefix = prefixOf(provider);
  const [path = ''] = (url.startsWith(`${prefix}/`) ? url.slice(prefix.length) : url).split('?', 1);
  const segments = path.split('/');
  const found = provider.notOffered.find(
    (one) => (one.method ?? method) === method && begins(segments, one.path.split('/')),
  );
  const reason =
    found?.reason ?? `Postrider does not offer this operation of the ${provider.title} API.`;
  return `${reason} ${baseUrl}/docs/moving lists the operations that are offered.`;
}

function begins(segments: readonly string[], pattern: readonly string[]): boolean {
  return pattern.every((part, at) => {
    const segment = segments[at];
    return part.startsWith('{') ? segment !== undefined && segment !== '' : part === segment;
  });
}
