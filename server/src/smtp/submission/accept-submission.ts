import type { Caller } from '../../accounts/caller.ts';
import type { MailReader } from '../../mail/mime/mail-parser.ts';
import type { MessageAcceptor } from '../../messages/accept/accept-message.ts';
import { hashRequest } from '../../messages/accept/idempotency.ts';
import type { AcceptedMessage, SendRequest } from '../../messages/accept/send-request.ts';
import {
  type DataStream,
  type MemoryBudget,
  rejectSmuggling,
  withReceivedData,
} from '../receive-data.ts';

export interface AcceptSubmissionParts {
  acceptor: Pick<MessageAcceptor, 'acceptOne'>;
  /** The check of shape that the API makes of every send. */
  checkShape: (body: object) => void;
}

/** What messages in hand share. */
export interface SubmissionResources {
  memory: MemoryBudget;
  parser: MailReader;
}

/** From the first byte of a message to its commit; resolves with its id. Throws and keeps nothing else. */
export function acceptSubmission(
  parts: AcceptSubmissionParts,
  { memory: held, parser: reader }: SubmissionResources,
  stream: DataStream,
  caller: Caller,
  recipients: readonly string[],
  onReceived: () => void,
): Promise<string> {
  return withReceivedData(stream, held.reserve(caller.workspaceId), async (data) => {
    onReceived();
    rejectSmuggling(data);
    const { request, idempotencyKey } = await reader.read(caller.workspaceId, data, recipients);
    parts.checkShape(toSchemaShape(request, recipients));
    const key =
      idempotencyKey === undefined
        ? undefined
        : {
            workspaceId: caller.workspaceId,
            mode: caller.mode,
            key: idempotencyKey,
            requestHash: hashRequest('SMTP', 'submission', request),
          };
    const { response: answer } = await parts.acceptor.acceptOne(caller, request, key, acceptedResponse, {
      verbatim: true,
    });
    return (JSON.parse(answer.body) as AcceptedMessage).id;
  });
}

/** The envelope was checked address by address, and each header is later; the API's form has one `to`. */
function toSchemaShape(request: SendRequest, [first]: readonly string[]): object {
  const { cc: _cc, bcc: _bcc, headers: _headers, ...rest } = request;
  return { ...rest, to: { email: first } };
}

function acceptedResponse(message: AcceptedMessage): { status: number; body: string } {
  return { status: 202, body: JSON.stringify(message) };
}
