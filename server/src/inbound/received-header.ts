import { formatDate } from '../mail/mime/compose.ts';
import { headerText } from '../mail/mime/mail-parser.ts';

/** The trace field that each server adds (RFC 5321 section 4.4). */

export interface MailClient {
  ip: string;
  /** As it introduced itself; untrusted. */
  helo: string;
  protocol: 'SMTP' | 'ESMTP' | 'ESMTPS';
}

export function receivedHeader(
  client: MailClient,
  by: { hostname: string; id: string; recipients: readonly string[]; atMs: number },
): Buffer {
  const ip = client.ip.includes(':') ? `IPv6:${client.ip}` : client.ip;
  const [recipient = ''] = by.recipients;
  // With several recipients, each would learn of the others.
  const forOne = by.recipients.length === 1 && isPrintable(recipient) ? ` for <${recipient}>` : '';
  return Buffer.from(
    `Received: from ${heloText(client.helo)} ([${ip}])\r\n` +
      `\tby ${by.hostname} with ${client.protocol} id ${by.id}${forOne};\r\n` +
      `\t${formatDate(by.atMs)}\r\n`,
  );
}

/** Anything else could be read as another part of the field. */
function heloText(helo: string): string {
  return /^[A-Za-z0-9._:[\]-]{1,255}$/.test(helo) ? helo : 'unknown';
}

function isPrintable(address: string): boolean {
  return /^[\x21-\x7e]+$/.test(address) && !/[<>\\"]/.test(address);
}

/** How many servers the mail has passed. */
export function countReceived(data: Buffer): number {
  return [...headerText(data).matchAll(/^received[ \t]*:/gim)].length;
}
