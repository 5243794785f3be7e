import { expect, test } from 'vitest';
import { groupRecipients } from './recipient-groups.ts';

type MessageHistory = Parameters<typeof groupRecipients>[0];

const recipient = (email: string, status: string, reason?: string) =>
  ({ email, status, reason: null, bounce: reason ? { reason } : null }) as never;

const event = (type: string, data: object) => ({ type, data, created_at: `at ${type}` }) as never;

const summarize = (recipients: never[], events: never[] = []): string[] =>
  groupRecipients({ recipients, events } as unknown as MessageHistory).map(
    (group) => `${group.outcome}: ${group.recipients.map(({ email }) => email).join(' ')}`,
  );

test('recipients with the same outcome are grouped, and failures come first', () => {
  expect(
    summarize([
      recipient('ada', 'delivered'),
      recipient('emil', 'deferred', 'greylisted'),
      recipient('noor', 'delivered'),
      recipient('tom', 'bounced', 'mailbox_full'),
      recipient('ines', 'bounced', 'unknown_mailbox'),
    ]),
  ).toEqual(['bounced: tom', 'bounced: ines', 'deferred: emil', 'delivered: ada noor']);
});

test('a recipient who complained is separate from one who only received it', () => {
  const two = [recipient('ada', 'delivered'), recipient('noor', 'delivered')];
  expect(summarize(two, [event('message.complained', { recipient: 'noor' })])).toEqual([
    'complained: noor',
    'delivered: ada',
  ]);
});

test('only opens by a person count', () => {
  const recipients = [recipient('ada', 'delivered')];
  const openedAt = (machine: boolean) =>
    groupRecipients({
      recipients,
      events: [event('message.opened', { machine })],
    } as unknown as MessageHistory)[0]?.openedAt;
  expect([openedAt(true), openedAt(false)]).toEqual([undefined, 'at message.opened']);
});
