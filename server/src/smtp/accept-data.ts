import type { Caller } from '../accounts/caller.ts';
import type { MessageAcceptor } from '../messages/accept-message.ts';
import { hashRequest } from '../messages/idempotency.ts';
import type { AcceptedMessage, SendRequest } from '../messages/send-request.ts';
import type { MailReader } from './mail-reader.ts';
import { type Data, type HeldBytes, refuseSmuggling, withData } from './read-data.ts';

export interface AcceptParts {
  acceptor: Pick<MessageAcceptor, 'acceptOne'>;
  /** The check of shape that the API makes of every send. */
  checkShape: (body: object) => void;
}

/** What messages in hand share. */
export interface Desk {
  held: HeldBytes;
  reader: MailReader;
}

/** From the first byte of a message to its commit; resolves with its id. Throws and keeps nothing else. */
export function acceptData(
  parts: AcceptParts,
  { held, reader }: Desk,
  stream: Data,
  caller: Caller,
  recipients: readonly string[],
  received: () => void,
): Promise<string> {
  return withData(stream, held.hold(caller.workspaceId), async (data) => {
    received();
    refuseSmuggling(data);
    const { request, idempotencyKey } = await reader.read(caller.workspaceId, data, recipients);
    parts.checkShape(shapeOf(request, recipients));
    const key =
      idempotencyKey === undefined
        ? undefined
        : {
            workspaceId: caller.workspaceId,
            mode: caller.mode,
            key: idempotencyKey,
            requestHash: hashRequest('SMTP', 'submission', request),
          };
    const { answer } = await parts.acceptor.acceptOne(caller, request, key, written, {
      verbatim: true,
    });
    return (JSON.parse(answer.body) as AcceptedMessage).id;
  });
}

/** The envelope was checked address by address, and each header is later; the API's form has one `to`. */
function shapeOf(request: SendRequest, [first]: readonly string[]): object {
  const { cc: _cc, bcc: _bcc, headers: _headers, ...rest } = request;
  return { ...rest, to: { email: first } };
}

function written(message: AcceptedMessage): { status: number; body: string } {
  return { status: 202, body: JSON.stringify(message) };
}
