/**
 * The mailbox provider of a recipient, recognized by the domain of the address or by the MX host.
 * All others are `other`: naming every domain would make the list as long as the recipients.
 */
export function mailboxProvider(recipient: string, mx: string | null): string {
  const domain = recipient.slice(recipient.lastIndexOf('@') + 1).toLowerCase();
  const byDomain = DOMAINS.get(domain);
  if (byDomain) return byDomain;
  if (mx === null) return 'other';
  const host = `.${mx.toLowerCase().replace(/\.$/, '')}`;
  return MAIL_SERVERS.find(([suffix]) => host.endsWith(suffix))?.[1] ?? 'other';
}

/** Whether the domain, or a parent of it, is one of the provider's own, such as gmail.com. */
export function isMailboxProviderDomain(domain: string): boolean {
  const labels = domain.split('.');
  return labels.some((_, at) => DOMAINS.has(labels.slice(at).join('.')));
}

export function isMailboxProvider(name: string): boolean {
  return name === 'other' || PROVIDERS.has(name);
}

const DOMAINS = new Map<string, string>(
  Object.entries({
    google: ['gmail.com', 'googlemail.com'],
    microsoft: ['outlook.com', 'hotmail.com', 'live.com', 'msn.com', 'hotmail.co.uk', 'hotmail.fr'],
    yahoo: ['yahoo.com', 'yahoo.co.uk', 'yahoo.fr', 'yahoo.de', 'ymail.com', 'aol.com'],
    apple: ['icloud.com', 'me.com', 'mac.com'],
    gmx: ['gmx.de', 'gmx.net', 'gmx.at', 'gmx.ch', 'gmx.com', 'web.de', 'mail.com'],
    telekom: ['t-online.de', 'magenta.de'],
    proton: ['proton.me', 'protonmail.com', 'pm.me'],
    orange: ['orange.fr', 'wanadoo.fr'],
    laposte: ['laposte.net', 'free.fr'],
    comcast: ['comcast.net'],
    'mail.ru': ['mail.ru', 'bk.ru', 'list.ru', 'inbox.ru'],
    yandex: ['yandex.ru', 'yandex.com', 'ya.ru'],
    tencent: ['qq.com', 'foxmail.com'],
    netease: ['163.com', '126.com'],
  }).flatMap(([provider, domains]) => domains.map((domain) => [domain, provider] as const)),
);

const PROVIDERS = new Set(DOMAINS.values());

/** With a leading dot: matches the host itself and its subdomains. */
const MAIL_SERVERS: readonly (readonly [suffix: string, provider: string])[] = [
  ['.google.com', 'google'],
  ['.googlemail.com', 'google'],
  ['.outlook.com', 'microsoft'],
  ['.hotmail.com', 'microsoft'],
  ['.office365.us', 'microsoft'],
  ['.mx.microsoft', 'microsoft'],
  ['.yahoodns.net', 'yahoo'],
  ['.mx.aol.com', 'yahoo'],
  ['.mail.icloud.com', 'apple'],
  ['.apple.com', 'apple'],
  ['.gmx.net', 'gmx'],
  ['.web.de', 'gmx'],
  ['.mail.com', 'gmx'],
  ['.t-online.de', 'telekom'],
  ['.protonmail.ch', 'proton'],
  ['.orange.fr', 'orange'],
  ['.free.fr', 'laposte'],
  ['.laposte.net', 'laposte'],
  ['.comcast.net', 'comcast'],
  ['.mail.ru', 'mail.ru'],
  ['.yandex.ru', 'yandex'],
  ['.yandex.net', 'yandex'],
  ['.qq.com', 'tencent'],
  ['.netease.com', 'netease'],
];
