import { expect, test } from 'vitest';
import { encodeId, newIdPair } from '../../lib/ids.ts';
import type { StoredDelivery, StoredMessage } from './message-store.ts';
import { publicMessage } from './public-message.ts';

const { uuid } = newIdPair('msg', Date.UTC(2026, 10, 17));

function message(delivery: Partial<StoredDelivery>, more: Partial<StoredMessage> = {}) {
  return publicMessage({
    id: uuid,
    mode: 'live',
    createdAtMs: 0,
    scheduledAtMs: null,
    sender: 'hello@example.org',
    senderName: null,
    subject: '',
    templateKey: null,
    templateVersion: null,
    stream: 'transactional',
    tags: [],
    metadata: {},
    ttlSeconds: null,
    headerMessageId: null,
    ...more,
    deliveries: [
      {
        ordinal: 0,
        kind: 'to',
        recipient: 'jane@example.com',
        name: null,
        status: 'failed',
        reason: null,
        attempts: 1,
        due_at: null,
        leased: false,
        finished_at: null,
        complained_at: null,
        smtp: null,
        bounce: null,
        ...delivery,
      },
    ],
  });
}

test('a failed recipient has the explanation of its reason', () => {
  const [recipient] = message({ reason: 'content_gone' }).recipients;
  expect(recipient?.explanation).toBe(
    'The content of this message has been deleted, so it cannot be sent. Send a new message.',
  );
});

test('a bounced recipient has the explanation of its bounce, and others have none', () => {
  const bounce = {
    class: 'hard',
    reason: 'unknown_mailbox',
    explanation: 'No such user.',
  } as const;
  expect(message({ status: 'bounced', bounce }).recipients[0]?.explanation).toBe('No such user.');
  expect(message({ status: 'delivered' }).recipients[0]?.explanation).toBeNull();
});

test('the Message-ID is the one of the caller or is generated', () => {
  expect(message({}, { headerMessageId: 'a@b.example' }).header_message_id).toBe('<a@b.example>');
  expect(message({}).header_message_id).toBe(`<${encodeId('msg', uuid)}@example.org>`);
});
