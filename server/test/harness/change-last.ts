/** The same with another last character, whatever that was: a secret or an id that does not exist. */
export function changeLast(text: string): string {
  return text.slice(0, -1) + (text.endsWith('0') ? '1' : '0');
}
