import { malformedMail } from './parse-mail.ts';

/**
 * The mail with CR LF line endings, as SMTP requires. Programs that do not speak SMTP often write LF.
 * A lone CR or NUL is rejected, because other servers would read it in another way than we do.
 */
export function withCrlf(mail: Buffer): Buffer {
  const text = mail.toString('latin1');
  if (text.includes('\0')) throw malformedMail('The message contains a NUL byte.');
  if (/\r(?!\n)/.test(text)) throw malformedMail('The message contains a CR without LF.');
  if (!/(?<!\r)\n/.test(text)) return mail;
  return Buffer.from(text.replaceAll(/\r?\n/g, '\r\n'), 'latin1');
}
