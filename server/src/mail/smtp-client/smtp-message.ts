import type { SmtpCapabilities } from './capabilities.ts';
import { type DataBody, prepareBody } from './data-body.ts';
import { type SmtpError, smtpError } from './smtp-results.ts';

/** One message to send. */
export interface SmtpMessage {
  /** The return path; empty for the null sender. */
  mailFrom: string;
  recipients: readonly string[];
  /** Lines end in CRLF; dots are not stuffed yet. */
  data: Buffer | readonly Buffer[];
  /** The headers contain UTF-8 (RFC 6531). UTF-8 addresses are detected automatically. */
  smtpUtf8: boolean;
  /** Asked before content is written, until the final dot. If false, the message is aborted. */
  mayTransmit?: (() => boolean) | undefined;
}

/** A message as SMTP commands for one receiver. */
export interface SendableMessage {
  mailCommand: string;
  recipients: readonly string[];
  /** In the order of the recipients. */
  recipientCommands: readonly string[];
  body: DataBody;
  mayTransmit: () => boolean;
}

/** Checks the message against the receiver's extensions before anything is sent. */
export function toSendableMessage(
  message: SmtpMessage,
  capabilities: SmtpCapabilities,
): SendableMessage | SmtpError {
  const { mailFrom, recipients } = message;
  const addresses = [mailFrom, ...recipients];
  if (!addresses.every((address) => PATH.test(address))) {
    return smtpError('malformed_message', 'mail', 'An address cannot be used in an SMTP command.');
  }
  const body = prepareBody(message.data);
  if (!body) return smtpError('malformed_message', 'mail', 'A line does not end in CRLF.');

  const utf8 = message.smtpUtf8 || !addresses.every((address) => ASCII.test(address));
  if (utf8 && !capabilities.smtpUtf8) {
    return smtpError('smtputf8_unsupported', 'mail', 'The receiver does not offer SMTPUTF8.');
  }
  if (body.eightBit && !capabilities.eightBitMime) {
    return smtpError('eightbit_unsupported', 'mail', 'The receiver does not offer 8BITMIME.');
  }
  if (capabilities.sizeMaxBytes !== null && body.sizeBytes > capabilities.sizeMaxBytes) {
    const detail = `The message has ${body.sizeBytes} bytes; the receiver accepts at most ${capabilities.sizeMaxBytes}.`;
    return smtpError('message_too_large', 'mail', detail);
  }
  let mailCommand = `MAIL FROM:<${mailFrom}>`;
  if (capabilities.size) mailCommand += ` SIZE=${body.sizeBytes}`;
  if (body.eightBit) mailCommand += ' BODY=8BITMIME';
  if (utf8) mailCommand += ' SMTPUTF8';
  const named = capabilities.dsn && recipients.length > 1;
  const recipientCommands = recipients.map(
    (recipient) => `RCPT TO:<${recipient}>${named ? originalRecipientParameter(recipient) : ''}`,
  );
  const { mayTransmit = () => true } = message;
  return { mailCommand, recipients, recipientCommands, body, mayTransmit };
}

/**
 * RFC 3461 section 4.2: lets a bounce from a forwarding server name the original recipient. Omitted
 * for addresses that need xtext encoding, because servers disagree on decoding it.
 */
function originalRecipientParameter(recipient: string): string {
  return /^[\x21-\x2a\x2c-\x3c\x3e-\x7e]+$/.test(recipient) ? ` ORCPT=rfc822;${recipient}` : '';
}

const ASCII = /^[\x20-\x7e]*$/;

/**
 * The last defense against commands or parameters injected through an address: outside a quoted
 * local part nothing that ends the path, and no control characters anywhere.
 */
const PATH = /^(?:(?:"(?:[^"\\\p{Cc}]|\\\P{Cc})*"|[^\s<>"\p{Cc}]+)@[^\s<>"\p{Cc}]+)?$/u;
