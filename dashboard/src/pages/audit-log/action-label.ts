/** Words of operation IDs that are not written in lower case. */
const SPELLED: Record<string, string> = { api: 'API', dkim: 'DKIM', ses: 'SES', totp: 'TOTP' };

/** “createApiKey” as “Create API key”, “suspendOperatorWorkspace” as “Suspend workspace”; a command as typed. */
export function actionLabel(action: string): string {
  if (action.includes(' ')) return `postrider ${action}`;
  const words = action
    .replace('Operator', '')
    .replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .split(' ')
    .map((word) => SPELLED[word] ?? word);
  const text = words.join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
