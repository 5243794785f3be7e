import type { Caller } from '../../accounts/caller.ts';
import type { MailParser } from '../../mail/mime/mail-parser.ts';
import { malformedMail, type ParsedMail } from '../../mail/mime/parse-mail.ts';
import type { Accepted, MessageAcceptor } from '../accept/accept-message.ts';
import type { Idempotency, IdempotencyRequest } from '../accept/idempotency.ts';
import type { SendRequest } from '../accept/send-request.ts';
import type { SendOptions } from './control-headers.ts';
import { mailToSendRequest } from './mail-to-send-request.ts';

/**
 * Accepts complete mail (RFC 5322), from SMTP submission or from the API. It is parsed without
 * blocking the event loop and becomes the same request that the API accepts, so that both share
 * every check. On any error it throws a RefusedError and nothing is stored.
 */

export interface MailAcceptorParts {
  acceptor: Pick<MessageAcceptor, 'accept'>;
  idempotency: Pick<Idempotency, 'hashRequest'>;
  parser: MailParser;
  /** Validates a request against the schema of the API's send endpoint. */
  checkShape: (body: object) => void;
}

export interface MailOptions {
  /** The envelope. Default: all addresses in To, Cc and Bcc. */
  recipients?: readonly string[] | undefined;
  /** Takes precedence over the same options in X-Postrider-* headers. */
  options?: SendOptions;
  /** Takes precedence over the key in X-Postrider-Idempotency-Key. */
  idempotency?: IdempotencyRequest | undefined;
}

export class MailAcceptor {
  readonly #parts: MailAcceptorParts;

  constructor(parts: MailAcceptorParts) {
    this.#parts = parts;
  }

  /** Accepts a mail whose lines end with CR LF. */
  async accept(caller: Caller, data: Buffer, given: MailOptions = {}): Promise<Accepted> {
    const { workspaceId, mode } = caller;
    const mail = await this.#parts.parser.parse(workspaceId, data);
    const recipients = given.recipients ?? addressees(mail);
    const submitted = mailToSendRequest(mail, data, recipients, given.options);
    const { request, idempotencyKey: key, messageId, original } = submitted;
    this.#parts.checkShape(toSchemaShape(request, recipients));
    const ownKey = (): IdempotencyRequest | undefined => {
      if (key === undefined) return undefined;
      const identity = submitted.identity();
      const requestHash = this.#parts.idempotency.hashRequest('SMTP', 'submission', identity);
      return { workspaceId, mode, key, requestHash };
    };
    const idempotency = given.idempotency ?? ownKey();
    const options = { idempotency, verbatim: true, messageId, original };
    return await this.#parts.acceptor.accept(caller, request, options);
  }
}

function addressees({ to, cc, bcc }: ParsedMail): string[] {
  const addresses = new Set([...to, ...cc, ...bcc].map(({ address }) => address));
  if (addresses.size > 0) return [...addresses];
  throw malformedMail('The message has no recipients.');
}

/**
 * The part of the request that the API schema can check: envelope addresses and headers are checked
 * on acceptance, and `to` may be empty.
 */
function toSchemaShape(request: SendRequest, [first]: readonly string[]): object {
  const { cc: _cc, bcc: _bcc, headers: _headers, ...rest } = request;
  return { ...rest, to: { email: first } };
}
