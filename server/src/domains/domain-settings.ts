import { type FieldError, RefusedError } from '../base/refused-error.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import { RETURN_PATH_HOST_OCTETS_MAX } from '../mail/return-path.ts';
import type { Domain, TlsSetting } from './domain.ts';

/** What users choose of a domain, as it arrives and as it is kept. */
export interface DomainSettings {
  tls?: TlsSetting;
  tracking?: { opens?: boolean; clicks?: boolean };
  tracking_host?: string | null;
}

type Kept = Pick<
  Domain,
  'name' | 'returnPathHost' | 'trackingHost' | 'tls' | 'trackOpens' | 'trackClicks'
>;

/** Room for its return path in MAIL FROM. A key's name below it in the DNS needs less. */
const NAME_OCTETS_MAX = RETURN_PATH_HOST_OCTETS_MAX - 'bounce.'.length;

export function domainNameOf(text: string): string {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw refused('/name', parsed.detail);
  if (parsed.domain.length > NAME_OCTETS_MAX) {
    throw refused('/name', `The domain is longer than ${NAME_OCTETS_MAX} octets.`);
  }
  return parsed.domain;
}

/** The settings after a change; hosts must lie below the domain. */
export function settingsOf(kept: Kept, change: DomainSettings): Kept {
  const { tracking_host } = change;
  const trackingHost =
    tracking_host == null ? null : hostBelow(kept.name, tracking_host, '/tracking_host');
  const returnPathHost = hostBelow(kept.name, kept.returnPathHost, '/return_path_host');
  if (returnPathHost.length > RETURN_PATH_HOST_OCTETS_MAX) {
    const detail = `The host is longer than ${RETURN_PATH_HOST_OCTETS_MAX} octets.`;
    throw refused('/return_path_host', detail);
  }
  if (trackingHost === returnPathHost) {
    const detail =
      'The return path and tracking need hosts of their own: one is an MX, one an alias.';
    throw refused('/tracking_host', detail);
  }
  return {
    name: kept.name,
    returnPathHost,
    trackingHost: tracking_host === undefined ? kept.trackingHost : trackingHost,
    tls: change.tls ?? kept.tls,
    trackOpens: change.tracking?.opens ?? kept.trackOpens,
    trackClicks: change.tracking?.clicks ?? kept.trackClicks,
  };
}

function hostBelow(name: string, text: string, pointer: string): string {
  const parsed = parseDomainName(text);
  if (!parsed.ok) throw refused(pointer, parsed.detail);
  if (!parsed.domain.endsWith(`.${name}`)) {
    throw refused(pointer, `Give a host below the domain, such as mail.${name}.`);
  }
  return parsed.domain;
}

function refused(pointer: string, detail: string): RefusedError {
  const errors: FieldError[] = [{ pointer, code: 'invalid_domain', detail }];
  return new RefusedError('validation_failed', `${pointer}: ${detail}`, { errors });
}
