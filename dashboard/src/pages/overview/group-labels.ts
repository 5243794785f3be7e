/** Display names of statistics groups. */

/** The API's group for values beyond the number that is counted separately. */
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
  other: 'Other',
};

export function isOtherGroup(group: string): boolean {
  return group === OTHER_GROUP;
}

export function groupLabel(by: string, group: string): string {
  if (isOtherGroup(group)) return 'All others';
  return by === 'receiver' ? (PROVIDERS[group] ?? group) : group;
}
