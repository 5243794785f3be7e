import { expect, test } from 'vitest';
import { formatWholeDuration, groupRecipients } from './recipient-groups.ts';

type Told = Parameters<typeof groupRecipients>[0];

const recipient = (email: string, status: string, reason?: string) =>
  ({ email, status, reason: null, bounce: reason ? { reason } : null }) as never;

const event = (type: string, data: object) => ({ type, data, created_at: `at ${type}` }) as never;

const told = (recipients: never[], events: never[] = []): string[] =>
  groupRecipients({ recipients, events } as unknown as Told).map(
    (fate) => `${fate.outcome}: ${fate.recipients.map(({ email }) => email).join(' ')}`,
  );

test('recipients with the same fate share an answer, and what needs somebody comes first', () => {
  expect(
    told([
      recipient('ada', 'delivered'),
      recipient('emil', 'deferred', 'greylisted'),
      recipient('noor', 'delivered'),
      recipient('tom', 'bounced', 'mailbox_full'),
      recipient('ines', 'bounced', 'unknown_mailbox'),
    ]),
  ).toEqual(['bounced: tom', 'bounced: ines', 'deferred: emil', 'delivered: ada noor']);
});

test('whoever got it and complained is told apart from whoever got it', () => {
  const two = [recipient('ada', 'delivered'), recipient('noor', 'delivered')];
  expect(told(two, [event('message.complained', { recipient: 'noor' })])).toEqual([
    'complained: noor',
    'delivered: ada',
  ]);
});

test('an opening counts when a person did it', () => {
  const recipients = [recipient('ada', 'delivered')];
  const openedAt = (machine: boolean) =>
    groupRecipients({ recipients, events: [event('message.opened', { machine })] } as unknown as Told)[0]
      ?.openedAt;
  expect([openedAt(true), openedAt(false)]).toEqual([undefined, 'at message.opened']);
});

test.each([
  [20_000, '20 seconds'],
  [60_000, '1 minute'],
  [5_400_000, '90 minutes'],
  [72 * 3_600_000, '3 days'],
])('%d ms are %s', (ms, words) => {
  expect(formatWholeDuration(ms)).toBe(words);
});
