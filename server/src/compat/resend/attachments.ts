import { timingSafeEqual } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { FetchError } from '../../http/file-fetcher.ts';
import { closed } from '../../http/openapi/shared-schemas.ts';
import { type Operation, operation } from '../../http/operation.ts';
import { type AnyRequest, InnerRequest } from '../../http/server/call-operation.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import type { CompatDependencies } from '../compat-provider.ts';

/** https://resend.com/docs/api-reference/attachments, and attachments that are named by URL. */

const Nullable = Type.Union([Type.String(), Type.Null()]);

export const Attachment = closed({
  filename: Type.Optional(Nullable),
  content: Type.Optional(Type.Union([Type.String(), BufferJson()])),
  path: Type.Optional(
    Type.String({ description: 'A URL, which is fetched if the operator allows it.' }),
  ),
  content_type: Type.Optional(Nullable),
  content_id: Type.Optional(Nullable),
});

export type AttachmentInput = Static<typeof Attachment>;

/** How a Node.js Buffer appears in JSON, which the client library passes on. */
function BufferJson() {
  return closed({ type: Type.Literal('Buffer'), data: Type.Array(Type.Integer()) });
}

/**
 * Replaces attachments that are named by URL with their content, one after the other. Together, they can
 * be as large as a request.
 */
export async function fetchAttachments(
  { fetchFile, bodyBytesMax }: CompatDependencies,
  request: AnyRequest,
  attachments: readonly AttachmentInput[],
): Promise<AttachmentInput[]> {
  const found: AttachmentInput[] = [];
  let bytesLeft = bodyBytesMax;
  for (const [index, attachment] of attachments.entries()) {
    const { path, ...rest } = attachment;
    if (path === undefined || fetchFile === undefined) {
      found.push(attachment);
      continue;
    }
    const pointer = `/attachments/${index}/path`;
    if (rest.content !== undefined) {
      const detail = 'An attachment has either `content` or `path`.';
      throw invalidFields([{ pointer, code: 'conflict', detail }]);
    }
    const { caller: owner, signal } = request;
    try {
      const file = await fetchFile({ url: path, owner, bytesMax: bytesLeft, signal });
      bytesLeft -= file.length;
      const filename = rest.filename ?? nameOf(path);
      found.push({ ...rest, filename, content: file.toString('base64') });
    } catch (error) {
      if (!(error instanceof FetchError)) throw error;
      const detail = `The file cannot be fetched: ${error.message}`;
      throw invalidFields([{ pointer, code: 'not_fetched', detail }]);
    }
  }
  return found;
}

/** The last part of the path of a URL. */
function nameOf(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last) || 'attachment';
  } catch {
    return last;
  }
}

export function toAttachment(attachment: AttachmentInput, pointer: string): object {
  const { content, path, filename, content_type: type, content_id: contentId } = attachment;
  if (path !== undefined) {
    const detail =
      'This attachment cannot be named by URL: the operator does not allow it (ATTACHMENT_URLS), or it ' +
      'belongs to a batch. Send the file in `content`, encoded as Base64.';
    throw invalidFields([{ pointer: `${pointer}/path`, code: 'unsupported', detail }]);
  }
  if (content === undefined) {
    const detail = 'An attachment needs `content`, encoded as Base64.';
    throw invalidFields([{ pointer: `${pointer}/content`, code: 'required', detail }]);
  }
  return {
    filename: filename || contentId || 'attachment',
    content: typeof content === 'string' ? content : Buffer.from(content.data).toString('base64'),
    ...(type ? { content_type: type } : {}),
    ...(contentId ? { content_id: contentId } : {}),
  };
}

const AttachmentPath = Type.Object({
  id: Type.String(),
  attachment: Type.String({ description: 'From the list: the position in the email, from 1.' }),
});

/** Resend's URLs are valid for an hour as well. */
const DOWNLOAD_MS = 3_600_000;

export function attachmentOperations(deps: CompatDependencies): Operation[] {
  const { call } = deps;
  const list = async (request: AnyRequest, id: string) => {
    const { body } = await call(request, 'getMessageContent', { params: { id } });
    const files: StoredFile[] = body.attachments;
    return files.map((file, index) => toAttachmentData(deps, request, id, file, index));
  };
  return [
    operation(
      {
        id: 'resendListAttachments',
        method: 'GET',
        path: '/emails/{id}/attachments',
        tag: 'Messages',
        summary: 'List the attachments of an email',
        scope: 'read:messages',
        params: Type.Object({ id: Type.String() }),
        responses: { 200: { description: 'The attachments.', body: Type.Object({}) } },
      },
      async (request) => {
        const data = await list(request, request.params.id);
        return { status: 200, body: { object: 'list', has_more: false, data } };
      },
    ),
    operation(
      {
        id: 'resendGetAttachment',
        method: 'GET',
        path: '/emails/{id}/attachments/{attachment}',
        tag: 'Messages',
        summary: 'Retrieve an attachment of an email',
        scope: 'read:messages',
        params: AttachmentPath,
        responses: { 200: { description: 'The attachment.', body: Type.Object({}) } },
      },
      async (request) => {
        const { id, attachment } = request.params;
        const found = (await list(request, id)).find((one) => one.id === attachment);
        if (!found) throw noAttachment();
        return { status: 200, body: { object: 'attachment', ...found } };
      },
    ),
    operation(
      {
        id: 'resendDownloadAttachment',
        method: 'GET',
        path: '/attachments/{token}',
        tag: 'Messages',
        summary: 'Download an attachment',
        description: 'The `download_url` of an attachment, which is valid for an hour.',
        scope: 'public',
        params: Type.Object({ token: Type.String() }),
        responses: { 200: { description: 'The file.' } },
      },
      async (request) => {
        const file = await download(deps, request, request.params.token);
        return {
          status: 200,
          body: file.content,
          mediaType: file.contentType,
          headers: {
            'content-disposition': 'attachment',
            'content-security-policy': 'sandbox',
            'cache-control': 'private, no-store',
          },
        };
      },
    ),
  ];
}

interface StoredFile {
  filename: string;
  content_type: string;
  content_id: string | null;
  size_bytes: number;
}

function toAttachmentData(
  deps: CompatDependencies,
  request: AnyRequest,
  messageId: string,
  file: StoredFile,
  index: number,
) {
  return {
    id: String(index + 1),
    filename: file.filename,
    size: file.size_bytes,
    content_type: file.content_type,
    content_disposition: file.content_id === null ? 'attachment' : 'inline',
    ...(file.content_id === null ? {} : { content_id: file.content_id }),
    ...downloadLink(deps, request, messageId, String(index)),
  };
}

/** In place of the index of an attachment: the message as it was received. */
export const RAW = 'raw';

/** A URL for an attachment of a message, which may be one that was received. */
export function downloadLink(
  { clock, baseUrl, sign }: CompatDependencies,
  { caller }: AnyRequest,
  messageId: string,
  part: string,
): { download_url: string; expires_at: string } {
  const expiresAtMs = clock.now() + DOWNLOAD_MS;
  const link = [caller.workspaceId, caller.mode, messageId, part, expiresAtMs].join('.');
  const token = `${link}.${sign(link).toString('base64url')}`;
  return {
    download_url: `${baseUrl}/compat/resend/attachments/${token}`,
    expires_at: new Date(expiresAtMs).toISOString(),
  };
}

/** The token names everything; its signature proves that a key with the right to read asked for it. */
async function download(
  { call, clock, sign }: CompatDependencies,
  request: AnyRequest,
  token: string,
): Promise<{ contentType: string; content: Buffer }> {
  const end = token.lastIndexOf('.');
  const link = token.slice(0, end);
  const signature = Buffer.from(token.slice(end + 1), 'base64url');
  const expected = sign(link);
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected)) {
    throw noAttachment();
  }
  const [workspaceId = '', mode, messageId = '', part = '', expiresAtMs] = link.split('.');
  if (Number(expiresAtMs) <= clock.now()) throw noAttachment();
  const caller = {
    workspaceId,
    mode: mode as 'live' | 'test',
    scopes: new Set(['read:messages', 'read:inbound_messages'] as const),
    allowedDomains: [],
    actor: 'download',
    keyId: undefined,
  };
  const input = { params: {}, query: {}, body: {}, idempotency: undefined, caller };
  const onBehalf = new InnerRequest(request, input);
  if (!messageId.startsWith('inm_')) {
    const query = { message_id: messageId, index: part };
    return (await call(onBehalf, 'getAttachment', { query })).body;
  }
  const response =
    part === RAW
      ? await call(onBehalf, 'getInboundMessageRaw', { params: { id: messageId } })
      : await call(onBehalf, 'getInboundMessageAttachment', {
          params: { id: messageId, index: part },
        });
  return {
    contentType: part === RAW ? 'message/rfc822' : 'application/octet-stream',
    content: response.body,
  };
}

export function noAttachment(): RefusedError {
  return new RefusedError('not_found', 'There is no such attachment, or the link has expired.');
}
