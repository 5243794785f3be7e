/**
 * Headers without `Return-Path`. Programs set it for all their mail, such as Symfony Mailer's
 * `returnPath()`, and the return path of a message is an address of ours. Our own API refuses the header;
 * those of other providers leave it out, as these providers and relays do (RFC 5321 section 4.4).
 */
export function withoutReturnPath<T>(headers: Record<string, T>): Record<string, T> {
  const names = Object.keys(headers);
  if (!names.some(isReturnPath)) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isReturnPath(name)));
}

export function isReturnPath(name: string): boolean {
  return name.length === 'return-path'.length && name.toLowerCase() === 'return-path';
}
