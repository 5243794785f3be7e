import { Type } from 'typebox';
import { RefusedError } from '../../lib/refused-error.ts';
import { parseDomainName } from '../../mail/domain-name.ts';

/** Most of Mailgun's paths begin with the sending domain. */
export const DomainPath = Type.Object({
  domain: Type.String({ description: 'A sending domain.', examples: ['yourdomain.com'] }),
});

/** The domain of the path, normalized. */
export function pathDomain({ domain }: { domain: string }): string {
  const parsed = parseDomainName(domain);
  if (parsed.ok) return parsed.domain;
  throw new RefusedError('not_found', `Domain not found: ${domain}`);
}
