import { type FieldError, invalidFields } from '../lib/refused-error.ts';
import { parseDomainName } from '../mail/domain-name.ts';
import { isMailboxProviderDomain } from '../mail/policy/mailbox-provider.ts';
import { RETURN_PATH_HOST_OCTETS_MAX } from '../mail/return-path-address.ts';
import type { Domain, TlsSetting } from './domain.ts';

/** The settings of a domain that users choose: parsing, defaults and updates. */
export interface DomainSettings {
  tls?: TlsSetting;
  tracking?: { opens?: boolean; clicks?: boolean };
  tracking_host?: string | null;
}

/** What can change later. A new domain cannot receive, because it is not verified. */
export interface DomainChange extends DomainSettings {
  receiving?: boolean;
}

export interface NewDomain extends DomainSettings {
  name: string;
  return_path_host?: string;
}

type StoredSettings = Pick<
  Domain,
  'name' | 'returnPathHost' | 'trackingHost' | 'tls' | 'trackOpens' | 'trackClicks' | 'receiving'
>;

/** Leaves space for the return path in MAIL FROM, which is longer than a DKIM record name. */
const NAME_OCTETS_MAX = RETURN_PATH_HOST_OCTETS_MAX - 'bounce.'.length;

export function parseNameOrThrow(text: string): string {
  const errors: FieldError[] = [];
  const name = parseName(text, errors);
  if (name === undefined) throw invalidFields(errors);
  return name;
}

/**
 * Only the provider can publish records for the domain of its mailboxes, so such a domain would
 * stay unverified forever.
 */
export function rejectMailboxProvider(text: string): void {
  const name = parseNameOrThrow(text);
  if (!isMailboxProviderDomain(name)) return;
  const detail = `Mail from ${name} can only be sent by its mailbox provider: you cannot publish DNS records there, and receivers reject such mail from other servers. Add a domain that you own. Your address at ${name} can be the Reply-To address.`;
  throw invalidFields([fieldError('/name', detail)]);
}

/** Settings of a new domain. Throws with all field errors at once. */
export function newDomainSettings(input: NewDomain): StoredSettings {
  const errors: FieldError[] = [];
  const name = parseName(input.name, errors);
  const hosts = parseHosts(name, input.return_path_host, input.tracking_host, errors);
  if (name === undefined || errors.length > 0) throw invalidFields(errors);
  const { returnPathHost = `bounce.${name}`, trackingHost } = hosts;
  return applyChoices({ name, returnPathHost, trackingHost, ...DEFAULTS }, input);
}

const DEFAULTS = {
  tls: 'opportunistic',
  trackOpens: false,
  trackClicks: false,
  receiving: false,
} as const;

/** Settings after an update. */
export function updatedSettings(stored: StoredSettings, change: DomainChange): StoredSettings {
  const errors: FieldError[] = [];
  const { returnPathHost } = stored;
  const { trackingHost } = parseHosts(stored.name, returnPathHost, change.tracking_host, errors);
  if (errors.length > 0) throw invalidFields(errors);
  const { tracking_host } = change;
  return applyChoices(
    { ...stored, ...(tracking_host === undefined ? {} : { trackingHost }) },
    change,
  );
}

/** Errors of the fields that are present, for a request whose other fields are invalid. */
export function domainFieldErrors(input: Partial<NewDomain>): FieldError[] {
  const errors: FieldError[] = [];
  const name = input.name === undefined ? undefined : parseName(input.name, errors);
  parseHosts(name, input.return_path_host, input.tracking_host, errors);
  return errors;
}

function applyChoices(
  stored: StoredSettings,
  { tls, tracking, receiving }: DomainChange,
): StoredSettings {
  return {
    name: stored.name,
    returnPathHost: stored.returnPathHost,
    trackingHost: stored.trackingHost,
    tls: tls ?? stored.tls,
    trackOpens: tracking?.opens ?? stored.trackOpens,
    trackClicks: tracking?.clicks ?? stored.trackClicks,
    receiving: receiving ?? stored.receiving,
  };
}

const NAME_ALONE =
  'Give the domain name alone, such as example.com: not a URL or an email address.';

function parseName(text: string, errors: FieldError[]): string | undefined {
  const parsed = parseDomainName(text);
  if (!parsed.ok) {
    const isPartOfMore = text.includes('/') || text.includes('@');
    errors.push(fieldError('/name', isPartOfMore ? NAME_ALONE : parsed.detail));
  } else if (parsed.domain.length <= NAME_OCTETS_MAX) return parsed.domain;
  else errors.push(fieldError('/name', `The domain is longer than ${NAME_OCTETS_MAX} octets.`));
  return undefined;
}

/** When the domain name is unknown, hosts are checked on their own. */
function parseHosts(
  name: string | undefined,
  returnPath: string | undefined,
  tracking: string | null | undefined,
  errors: FieldError[],
): { returnPathHost: string | undefined; trackingHost: string | null } {
  const returnPathHost =
    returnPath === undefined
      ? undefined
      : parseSubdomain(name, returnPath, '/return_path_host', errors);
  if (returnPathHost !== undefined && returnPathHost.length > RETURN_PATH_HOST_OCTETS_MAX) {
    const detail = `The host is longer than ${RETURN_PATH_HOST_OCTETS_MAX} octets.`;
    errors.push(fieldError('/return_path_host', detail));
  }
  const trackingHost =
    tracking == null ? null : (parseSubdomain(name, tracking, '/tracking_host', errors) ?? null);
  if (trackingHost !== null && trackingHost === (returnPathHost ?? `bounce.${name}`)) {
    const detail =
      'The return path and tracking need different hosts: one is an MX record, the other a CNAME.';
    errors.push(fieldError('/tracking_host', detail));
  }
  return { returnPathHost, trackingHost };
}

function parseSubdomain(
  name: string | undefined,
  text: string,
  pointer: string,
  errors: FieldError[],
): string | undefined {
  const parsed = parseDomainName(text);
  if (!parsed.ok) {
    errors.push(fieldError(pointer, parsed.detail));
    return undefined;
  }
  if (name !== undefined && !parsed.domain.endsWith(`.${name}`)) {
    errors.push(fieldError(pointer, `Must be a subdomain of the domain, such as mail.${name}.`));
  }
  return parsed.domain;
}

function fieldError(pointer: string, detail: string): FieldError {
  return { pointer, code: 'invalid_domain', detail };
}
