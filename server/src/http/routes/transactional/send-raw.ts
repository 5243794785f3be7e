import { Type } from 'typebox';
import { type FieldError, invalidFields, RefusedError } from '../../../lib/refused-error.ts';
import { withCrlf } from '../../../mail/mime/line-endings.ts';
import { decodeBase64 } from '../../../messages/accept/parse-options.ts';
import { SendMessage } from '../../../messages/accept/send-request.ts';
import type { MailAcceptor } from '../../../messages/mime/mail-acceptor.ts';
import { closed } from '../../openapi/shared-schemas.ts';
import { type Operation, operation } from '../../operation.ts';
import { acceptedResponse, SENT } from './send.ts';
import { SEND_PROBLEMS } from './send-problems.ts';

const { stream, tags, metadata, tracking, scheduled_at, ttl_seconds } = SendMessage.properties;

const SendRaw = closed(
  {
    raw: Type.String({
      minLength: 1,
      description: 'The whole message: header and body (RFC 5322, MIME), Base64-encoded.',
    }),
    recipients: Type.Optional(
      Type.Array(Type.String({ format: 'email', maxLength: 320 }), {
        minItems: 1,
        maxItems: 1000,
        description:
          'The envelope: who receives the message. Default: all addresses in To, Cc and Bcc. ' +
          'Header addresses that are not listed here get no mail and are removed; recipients ' +
          'without a header address are blind copies.',
        examples: [['jane@example.com']],
      }),
    ),
    ...{ stream, tags, metadata, tracking, scheduled_at, ttl_seconds },
  },
  { title: 'SendRaw' },
);

const EXAMPLE = [
  'From: Your App <hello@yourdomain.com>',
  'To: jane@example.com',
  'Subject: Hello',
  '',
  'Hello!',
].join('\r\n');

export function sendRaw(deps: { mailAcceptor: MailAcceptor }): Operation {
  return operation(
    {
      id: 'sendRaw',
      method: 'POST',
      path: '/transactional/raw',
      tag: 'Sending',
      summary: 'Send a MIME message',
      description:
        'Accepts a message that your program composed itself, exactly as SMTP submission does: ' +
        'nothing in it is a placeholder, signed and encrypted bodies stay unchanged, and ' +
        '`X-Postrider-…` headers set options.',
      scope: 'send:transactional',
      notAudited: 'sends',
      body: SendRaw,
      examples: {
        text: {
          summary: 'A text message',
          value: { raw: Buffer.from(EXAMPLE).toString('base64') },
        },
      },
      responses: SENT,
      problems: ['malformed_request', ...SEND_PROBLEMS],
      handlesIdempotency: true,
    },
    async (request) => {
      const { caller, body, idempotency } = request;
      const { raw, recipients, ...options } = body;
      const mail = decodeBase64(raw);
      if (!mail) {
        const detail = 'The message must be Base64-encoded.';
        throw invalidFields([{ pointer: '/raw', code: 'invalid_base64', detail }]);
      }
      try {
        const given = { recipients, options, idempotency };
        const accepted = await deps.mailAcceptor.accept(caller, withCrlf(mail), given);
        return acceptedResponse(request, accepted);
      } catch (error) {
        throw error instanceof RefusedError
          ? pointIntoBody(error, recipients !== undefined)
          : error;
      }
    },
  );
}

const OWN_FIELDS = new Set(Object.keys(SendRaw.properties));
const RECIPIENT_FIELDS = new Set(['to', 'cc', 'bcc']);

/** The fields of the parsed mail are not fields of the body: they are all in `raw`. */
function pointIntoBody(error: RefusedError, hasRecipients: boolean): RefusedError {
  if (error.errors.length === 0) return error;
  const pointerOf = ({ pointer = '' }: FieldError): string => {
    const [, field = ''] = pointer.split('/');
    if (OWN_FIELDS.has(field)) return pointer;
    return hasRecipients && RECIPIENT_FIELDS.has(field) ? '/recipients' : '/raw';
  };
  const errors = error.errors.map((one) =>
    one.pointer === undefined ? one : { ...one, pointer: pointerOf(one) },
  );
  const { retryAfterSeconds, fix, code } = error;
  return new RefusedError(code, invalidFields(errors).message, {
    errors,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(fix === undefined ? {} : { fix }),
  });
}
