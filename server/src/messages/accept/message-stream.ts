import type { Caller } from '../../accounts/caller.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { invalidFields, RefusedError } from '../../lib/refused-error.ts';
import { DEFAULT_STREAM_KEY, type Stream } from '../../streams/stream.ts';
import type { RenderedFields } from '../content/rendered-content.ts';
import type { Envelope, Recipient } from './parse-envelope.ts';
import type { SendRequest } from './send-request.ts';

/**
 * The stream of one message, and what mail of a subscription stream has in addition: a link with which
 * its recipient can leave, as a header and as the placeholder `unsubscribe_url`.
 */

export interface MessageStreamParts {
  /** The stream with this key, if the workspace has one. */
  stream(workspaceId: string, key: string): Stream | undefined | Promise<Stream | undefined>;
  unsubscribeLinks: UnsubscribeLinkMaker;
}

/** Makes the links with which the recipient of a message can leave its stream. */
export interface UnsubscribeLinkMaker {
  urlFor(link: UnsubscribeLink): string;
  /** Undefined if no mail can be received. */
  mailtoFor(link: UnsubscribeLink): string | undefined;
}

export interface UnsubscribeLink {
  workspaceId: string;
  mode: Mode;
  messageId: string;
  stream: string;
  recipientKey: string;
}

export interface StreamedMessage {
  messageId: string;
  envelope: Envelope;
  headers: readonly (readonly [name: string, value: string])[];
}

export class MessageStream {
  readonly #parts: MessageStreamParts;
  readonly #caller: Caller;
  readonly #request: SendRequest;
  readonly #message: StreamedMessage;
  #stream: Stream | undefined;
  #link: UnsubscribeLink | undefined;
  #url: string | undefined;

  constructor(
    parts: MessageStreamParts,
    caller: Caller,
    request: SendRequest,
    message: StreamedMessage,
  ) {
    this.#parts = parts;
    this.#caller = caller;
    this.#request = request;
    this.#message = message;
  }

  /** Synchronous when the workspace is cached. `ofTemplate` is the stream that the template names. */
  resolve(ofTemplate: string | undefined): Stream | Promise<Stream> {
    if (this.#stream) return this.#stream;
    const found = findStream(this.#parts, this.#caller, this.#request.stream, ofTemplate);
    return found instanceof Promise ? found.then((one) => this.#use(one)) : this.#use(found);
  }

  /** The values for placeholders that the service provides. */
  values(ofTemplate: string | undefined): Record<string, string> | Promise<Record<string, string>> {
    const given = (): Record<string, string> =>
      this.#url === undefined ? {} : { unsubscribe_url: this.#url };
    const resolving = this.resolve(ofTemplate);
    return resolving instanceof Promise ? resolving.then(given) : given();
  }

  /**
   * Adds the headers of one-click unsubscribe (RFC 8058), which DKIM covers. The button of email
   * clients needs https.
   */
  withHeaders(fields: RenderedFields): RenderedFields {
    const url = this.#url;
    if (url === undefined || this.#link === undefined) return fields;
    const mailto = this.#parts.unsubscribeLinks.mailtoFor(this.#link);
    const targets = mailto === undefined ? `<${url}>` : `<${url}>, <${mailto}>`;
    const headers: [string, string][] = [...fields.headers, ['List-Unsubscribe', targets]];
    if (url.startsWith('https:')) {
      headers.push(['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click']);
    }
    return { ...fields, headers };
  }

  #use(stream: Stream): Stream {
    this.#stream = stream;
    if (stream.purpose !== 'subscription') return stream;
    const { messageId, envelope, headers } = this.#message;
    // A sender who manages subscriptions elsewhere gives the header, and it stays as given.
    if (headers.some(([name]) => LIST_UNSUBSCRIBE.test(name))) return stream;
    const [first, second] = envelope.recipients;
    if (second) throw tooManyRecipients(stream);
    const { workspaceId, mode } = this.#caller;
    const { key: recipientKey } = (first as Recipient).mailbox;
    this.#link = { workspaceId, mode, messageId, stream: stream.key, recipientKey };
    this.#url = this.#parts.unsubscribeLinks.urlFor(this.#link);
    return stream;
  }
}

const LIST_UNSUBSCRIBE = /^list-unsubscribe(-post)?$/i;

/** All recipients get the same bytes, so with several of them a link would be that of one. */
function tooManyRecipients({ key }: Stream): RefusedError {
  const detail =
    `Mail in the subscription stream ${key} can have only one recipient, because it contains the ` +
    'recipient’s own link to unsubscribe. Send one message to each, or set List-Unsubscribe yourself.';
  return invalidFields([{ pointer: '/to', code: 'too_many_recipients', detail }]);
}

/**
 * The stream that the request names, or else the template, or else the key. A key that is limited to
 * streams must not leave them by naming a template.
 */
function findStream(
  parts: MessageStreamParts,
  { workspaceId, allowedStreams = [] }: Caller,
  requested: string | undefined,
  ofTemplate: string | undefined,
): Stream | Promise<Stream> {
  const key = requested ?? ofTemplate ?? allowedStreams[0] ?? DEFAULT_STREAM_KEY;
  if (allowedStreams.length > 0 && !allowedStreams.includes(key)) {
    throw new RefusedError(
      'stream_not_allowed',
      `This API key can send only in ${allowedStreams.join(', ')}, not in ${key}.`,
    );
  }
  const checked = (stream: Stream | undefined): Stream => {
    if (stream) return stream;
    const detail = `The workspace has no stream ${key}.`;
    const pointer =
      requested === undefined && ofTemplate !== undefined ? '/template_key' : '/stream';
    const errors = [{ pointer, code: 'stream_not_found', detail }];
    throw new RefusedError('stream_not_found', detail, { errors });
  };
  const finding = parts.stream(workspaceId, key);
  return finding instanceof Promise ? finding.then(checked) : checked(finding);
}
