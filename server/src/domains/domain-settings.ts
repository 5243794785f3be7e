import { type FieldError, invalidFields } from '../lib/refused-error.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import { RETURN_PATH_HOST_OCTETS_MAX } from '../mail/return-path-address.ts';
import type { Domain, TlsSetting } from './domain.ts';

/** What users choose of a domain, as it arrives and as it is kept. */
export interface DomainSettings {
  tls?: TlsSetting;
  tracking?: { opens?: boolean; clicks?: boolean };
  tracking_host?: string | null;
}

export interface NewDomain extends DomainSettings {
  name: string;
  return_path_host?: string;
}

type Kept = Pick<
  Domain,
  'name' | 'returnPathHost' | 'trackingHost' | 'tls' | 'trackOpens' | 'trackClicks'
>;

/** Room for its return path in MAIL FROM. A key's name below it in the DNS needs less. */
const NAME_OCTETS_MAX = RETURN_PATH_HOST_OCTETS_MAX - 'bounce.'.length;

export function domainNameOf(text: string): string {
  const errors: FieldError[] = [];
  const name = readName(text, errors);
  if (name === undefined) throw invalidFields(errors);
  return name;
}

/** Of a domain that is not there yet; all that is wrong is told at once. */
export function settingsOfNew(wanted: NewDomain): Kept {
  const errors: FieldError[] = [];
  const name = readName(wanted.name, errors);
  const hosts = readHosts(name, wanted.return_path_host, wanted.tracking_host, errors);
  if (name === undefined || errors.length > 0) throw invalidFields(errors);
  const { returnPathHost = `bounce.${name}`, trackingHost } = hosts;
  const standard = { tls: 'opportunistic', trackOpens: false, trackClicks: false } as const;
  return chosen({ name, returnPathHost, trackingHost, ...standard }, wanted);
}

/** The settings after a change; hosts must lie below the domain. */
export function settingsOf(kept: Kept, change: DomainSettings): Kept {
  const errors: FieldError[] = [];
  const { returnPathHost } = kept;
  const { trackingHost } = readHosts(kept.name, returnPathHost, change.tracking_host, errors);
  if (errors.length > 0) throw invalidFields(errors);
  const { tracking_host } = change;
  return chosen({ ...kept, ...(tracking_host === undefined ? {} : { trackingHost }) }, change);
}

/** What is wrong with the fields that are there, of a domain whose other fields cannot be read. */
export function domainFaults(given: Partial<NewDomain>): FieldError[] {
  const errors: FieldError[] = [];
  const name = given.name === undefined ? undefined : readName(given.name, errors);
  readHosts(name, given.return_path_host, given.tracking_host, errors);
  return errors;
}

function chosen(kept: Kept, { tls, tracking }: DomainSettings): Kept {
  return {
    name: kept.name,
    returnPathHost: kept.returnPathHost,
    trackingHost: kept.trackingHost,
    tls: tls ?? kept.tls,
    trackOpens: tracking?.opens ?? kept.trackOpens,
    trackClicks: tracking?.clicks ?? kept.trackClicks,
  };
}

function readName(text: string, errors: FieldError[]): string | undefined {
  const parsed = parseDomainName(text);
  if (!parsed.ok) errors.push(fault('/name', parsed.detail));
  else if (parsed.domain.length <= NAME_OCTETS_MAX) return parsed.domain;
  else errors.push(fault('/name', `The domain is longer than ${NAME_OCTETS_MAX} octets.`));
  return undefined;
}

/** Below a name that is not known, hosts are judged for themselves. */
function readHosts(
  name: string | undefined,
  returnPath: string | undefined,
  tracking: string | null | undefined,
  errors: FieldError[],
): { returnPathHost: string | undefined; trackingHost: string | null } {
  const returnPathHost =
    returnPath === undefined ? undefined : hostBelow(name, returnPath, '/return_path_host', errors);
  if (returnPathHost !== undefined && returnPathHost.length > RETURN_PATH_HOST_OCTETS_MAX) {
    const detail = `The host is longer than ${RETURN_PATH_HOST_OCTETS_MAX} octets.`;
    errors.push(fault('/return_path_host', detail));
  }
  const trackingHost =
    tracking == null ? null : (hostBelow(name, tracking, '/tracking_host', errors) ?? null);
  if (trackingHost !== null && trackingHost === (returnPathHost ?? `bounce.${name}`)) {
    const detail =
      'The return path and tracking need hosts of their own: one is an MX, one an alias.';
    errors.push(fault('/tracking_host', detail));
  }
  return { returnPathHost, trackingHost };
}

function hostBelow(
  name: string | undefined,
  text: string,
  pointer: string,
  errors: FieldError[],
): string | undefined {
  const parsed = parseDomainName(text);
  if (!parsed.ok) {
    errors.push(fault(pointer, parsed.detail));
    return undefined;
  }
  if (name !== undefined && !parsed.domain.endsWith(`.${name}`)) {
    errors.push(fault(pointer, `Give a host below the domain, such as mail.${name}.`));
  }
  return parsed.domain;
}

function fault(pointer: string, detail: string): FieldError {
  return { pointer, code: 'invalid_domain', detail };
}
