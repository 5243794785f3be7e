/**
 * The sender domain in what users paste: an address of a website or of a mailbox. Anything else is
 * returned as it is, for the server to reject.
 */
export function domainIn(text: string): string {
  const address = text
    .trim()
    .replace(/^[a-z]+:\/\//i, '')
    .replace(/[/?#].*$/s, '')
    .replace(/:\d+$/, '');
  return address.slice(address.lastIndexOf('@') + 1).replace(/^www\.(?=.+\.)/i, '');
}
