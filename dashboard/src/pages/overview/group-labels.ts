/** What a group of the statistics is called on screen. */

/** What is counted together, because a tenant has more values than are counted. */
const OTHER_GROUP = '(other)';

export const PROVIDERS: Record<string, string> = {
  google: 'Google',
  microsoft: 'Microsoft',
  yahoo: 'Yahoo, AOL',
  apple: 'Apple',
  gmx: 'GMX, WEB.DE',
  telekom: 'Telekom',
  proton: 'Proton',
  orange: 'Orange',
  laposte: 'La Poste, Free',
  comcast: 'Comcast',
  'mail.ru': 'Mail.ru',
  yandex: 'Yandex',
  tencent: 'QQ',
  netease: 'NetEase',
  other: 'Everybody else',
};

export function isOtherGroup(group: string): boolean {
  return group === OTHER_GROUP;
}

export function groupLabel(by: string, group: string): string {
  if (isOtherGroup(group)) return 'All others';
  return by === 'receiver' ? (PROVIDERS[group] ?? group) : group;
}
