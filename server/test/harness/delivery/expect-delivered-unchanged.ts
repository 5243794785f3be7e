import { expect } from 'vitest';
import { decodeId } from '../../../src/lib/ids.ts';
import { compose } from '../../../src/mail/mime/compose.ts';
import { toOutgoing } from '../../../src/messages/content/message-content.ts';
import { contentOf, type QueuedMessage } from '../database/enqueue-messages.ts';
import type { ReceivedMessage } from '../smtp/smtp-receiver.ts';
import { expectSigned } from './signed-live-route.ts';

/** Queued messages by id. */
export type QueuedMessages = ReadonlyMap<string, QueuedMessage>;

const TWO_SIGNATURES = /^(DKIM-Signature: [^\r]+\r\n([ \t][^\r]+\r\n)+){2}$/;

/**
 * Checks every byte that receivers got: two DKIM signatures, valid in an independent implementation,
 * followed by exactly the composed message.
 */
export async function expectDeliveredUnchanged(
  arrived: readonly ReceivedMessage[],
  queued: QueuedMessages,
): Promise<void> {
  for (const { raw, recipients } of arrived) {
    const [id, message] = findQueued(raw, queued);
    const dateMs = message.status === 'scheduled' ? message.dueAtMs : undefined;
    const meant = compose(toOutgoing(id, dateMs ?? message.nowMs, contentOf(message)));
    const at = raw.length - meant.length;
    expect(raw.toString('latin1', Math.max(at, 0))).toBe(meant.toString('latin1'));
    expect(raw.toString('latin1', 0, at)).toMatch(TWO_SIGNATURES);
    for (const recipient of recipients) expect(message.recipients).toContain(recipient);
    await expectSigned(raw);
  }
}

function findQueued(raw: Buffer, queued: QueuedMessages): [string, QueuedMessage] {
  const [, public_ = ''] = /^Message-ID: <(msg_\w+)@/im.exec(raw.toString('latin1')) ?? [];
  const id = decodeId('msg', public_);
  const message = id === undefined ? undefined : queued.get(id);
  if (id === undefined || !message)
    throw new Error(`No queued message matches: ${raw.toString('latin1')}`);
  return [id, message];
}
