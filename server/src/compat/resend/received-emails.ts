import { Type } from 'typebox';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import type { AnyRequest } from '../../http/server/call-operation.ts';
import { formatAddress } from '../../mail/address.ts';
import { resendReceivedEmail } from '../../webhooks/formats/resend-received-email.ts';
import type { CompatDependencies } from '../compat-provider.ts';
import { downloadLink, noAttachment, RAW } from './attachments.ts';
import { ListQuery, pageQuery, toPage } from './lists.ts';

/** https://resend.com/docs/api-reference/emails/retrieve-received-email */

const EmailId = Type.Object({ id: Type.String() });

const INBOUND_MESSAGES = { list: '/inbound-messages', prefix: 'inm' } as const;

export function receivedEmailOperations(deps: CompatDependencies): Operation[] {
  return [...emailOperations(deps), ...attachmentOperations(deps)];
}

function emailOperations(deps: CompatDependencies): Operation[] {
  const { call } = deps;
  return [
    operation(
      {
        id: 'resendListReceivedEmails',
        method: 'GET',
        path: '/emails/receiving',
        tag: 'Inbound messages',
        summary: 'List received emails',
        scope: 'read:inbound_messages',
        query: ListQuery,
        responses: { 200: { description: 'The emails, newest first.', body: Type.Object({}) } },
      },
      async (request) => {
        const { body: page } = await call(request, 'listInboundMessages', {
          query: pageQuery(request.query, INBOUND_MESSAGES),
        });
        return { status: 200, body: toPage(page, toReceivedEmail) };
      },
    ),
    operation(
      {
        id: 'resendGetReceivedEmail',
        method: 'GET',
        path: '/emails/receiving/{id}',
        tag: 'Inbound messages',
        summary: 'Retrieve a received email',
        description:
          'Images of the HTML are returned in it as `data:` URLs, up to a total size, unless ' +
          '`html_format` is `cid`.',
        scope: 'read:inbound_messages',
        params: EmailId,
        query: closed({
          html_format: Type.Optional(Type.Union([Type.Literal('data_uri'), Type.Literal('cid')])),
        }),
        responses: { 200: { description: 'The email.', body: Type.Object({}) } },
      },
      async (request) => {
        const { id } = request.params;
        const { body: message } = await call(request, 'getInboundMessage', { params: { id } });
        const keepsIds = request.query.html_format === 'cid';
        return {
          status: 200,
          body: {
            object: 'email',
            ...toReceivedEmail(message),
            html: keepsIds ? message.html : await withImages(deps, request, message),
            text: message.text,
            headers: toHeaders(message),
            // Without headers, the content has been deleted.
            raw: message.headers.length > 0 ? downloadLink(deps, request, id, RAW) : null,
          },
        };
      },
    ),
  ];
}

function attachmentOperations(deps: CompatDependencies): Operation[] {
  const list = async (request: AnyRequest, id: string) => {
    const { body } = await deps.call(request, 'getInboundMessage', { params: { id } });
    const files = toReceivedEmail(body).attachments;
    return files.map((file, index) => ({
      ...file,
      ...downloadLink(deps, request, id, String(index)),
    }));
  };
  return [
    operation(
      {
        id: 'resendListReceivedAttachments',
        method: 'GET',
        path: '/emails/receiving/{id}/attachments',
        tag: 'Inbound messages',
        summary: 'List the attachments of a received email',
        scope: 'read:inbound_messages',
        params: EmailId,
        responses: { 200: { description: 'The attachments.', body: Type.Object({}) } },
      },
      async (request) => {
        const data = await list(request, request.params.id);
        return { status: 200, body: { object: 'list', has_more: false, data } };
      },
    ),
    operation(
      {
        id: 'resendGetReceivedAttachment',
        method: 'GET',
        path: '/emails/receiving/{id}/attachments/{attachment}',
        tag: 'Inbound messages',
        summary: 'Retrieve an attachment of a received email',
        scope: 'read:inbound_messages',
        params: Type.Object({
          id: Type.String(),
          attachment: Type.String({
            description: 'From the list: the position in the email, from 1.',
          }),
        }),
        responses: { 200: { description: 'The attachment.', body: Type.Object({}) } },
      },
      async (request) => {
        const { id, attachment } = request.params;
        const found = (await list(request, id)).find((one) => one.id === attachment);
        if (!found) throw noAttachment();
        return { status: 200, body: { object: 'attachment', ...found } };
      },
    ),
  ];
}

type InboundMessage = Parameters<typeof resendReceivedEmail>[0];

interface InboundMessageWithContent extends InboundMessage {
  html: string | null;
  headers: { name: string; value: string }[];
}

function toReceivedEmail(message: InboundMessage) {
  const replyTo = message.reply_to.map(formatAddress);
  return { ...resendReceivedEmail(message), reply_to: replyTo };
}

/** Names are in lower case; of a header that is repeated, the first is the latest. */
function toHeaders({ headers }: InboundMessageWithContent): Record<string, string> | null {
  if (headers.length === 0) return null;
  const pairs = headers.map(({ name, value }) => [name.toLowerCase(), value] as const);
  return Object.fromEntries(pairs.reverse());
}

/** A hostile message could have many images, and refer to one many times. */
const IMAGES_MAX = 20;
const IMAGES_CHARS_MAX = 16 * 1024 * 1024;

async function withImages(
  { call }: CompatDependencies,
  request: AnyRequest,
  { id, html, attachments }: InboundMessageWithContent,
): Promise<string | null> {
  if (html === null || !html.includes('cid:')) return html;
  const urls = new Map<string, string>();
  for (const { index, content_id: contentId, content_type: type } of attachments) {
    if (urls.size === IMAGES_MAX) break;
    if (contentId === null || !html.includes(`cid:${contentId}`)) continue;
    if (!/^image\/[\w.+-]+$/.test(type)) continue;
    const params = { id, index: String(index) };
    const { body } = await call(request, 'getInboundMessageAttachment', { params });
    urls.set(contentId, `data:${type};base64,${body.toString('base64')}`);
  }
  let charsLeft = IMAGES_CHARS_MAX;
  return html.replace(/cid:([^"'\s<>()]{1,300})/g, (reference, contentId: string) => {
    const url = urls.get(contentId);
    if (url === undefined || url.length > charsLeft) return reference;
    charsLeft -= url.length;
    return url;
  });
}
