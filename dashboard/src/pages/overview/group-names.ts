/** What a group of the statistics is called on screen. */

/** What is counted together, because a tenant has more values than are counted. */
const REST = '(other)';

export const RECEIVERS: Record<string, string> = {
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

export function isRest(group: string): boolean {
  return group === REST;
}

export function groupName(by: string, group: string): string {
  if (isRest(group)) return 'All others';
  return by === 'receiver' ? (RECEIVERS[group] ?? group) : group;
}
