import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { replyText } from './reply-text.ts';

// Goal: the text that the author of a reply wrote, in the forms of the common mail programs, and never
// less than that. Method: replies as these programs write them.

const REPLY = 'Yes, please.\n\nJane';

describe('a reply above its quote', () => {
  test.each([
    ['Gmail', 'On Tue, Nov 17, 2026 at 10:12 AM Shop <shop@example.com> wrote:\n\n> Ship it?\n'],
    [
      'Gmail, folded',
      'On Tue, Nov 17, 2026 at 10:12 AM Shop Support Team\n<support@example.com> wrote:\n\n> Ship it?',
    ],
    ['Apple Mail', 'On 17. Nov 2026, at 10:12, Shop <shop@example.com> wrote:\n\n> Ship it?'],
    ['Thunderbird, German', 'Am 17.11.26 um 10:12 schrieb Shop:\n> Ship it?'],
    [
      'Gmail, French',
      'Le mar. 17 nov. 2026 à 10:12, Shop <shop@example.com> a écrit :\n> Ship it?',
    ],
    ['Gmail, Spanish', 'El mar, 17 nov 2026 a las 10:12, Shop escribió:\n> Ship it?'],
    ['Gmail, Italian', 'Il giorno mar 17 nov 2026 alle 10:12 Shop ha scritto:\n> Ship it?'],
    ['Gmail, Dutch', 'Op di 17 nov 2026 om 10:12 schreef Shop <shop@example.com>:\n> Ship it?'],
    ['Outlook', '-----Original Message-----\nFrom: Shop\nSent: Tuesday\nTo: Jane\n\nShip it?'],
    [
      'Outlook on the web',
      '________________________________\nFrom: Shop <shop@example.com>\nSent: Tuesday\n\nShip it?',
    ],
    [
      'Outlook without a line',
      'From: Shop <shop@example.com>\nSent: Tuesday, November 17, 2026\nTo: Jane\nSubject: Order\n\nShip it?',
    ],
    ['a quote alone', '> Ship it?\n> Shop'],
  ])('%s', (_, quote) => {
    expect(replyText(`${REPLY}\n\n${quote}`)).toBe(REPLY);
    expect(replyText(`${REPLY}\n\n${quote}`.replaceAll('\n', '\r\n'))).toBe(REPLY);
  });
});

test('the signature is not part of the reply', () => {
  expect(replyText('Yes.\n-- \nJane, ACME\n\n> Ship it?')).toBe('Yes.');
});

test.each([
  ['a new message', 'Hello,\n\nwhere is my order?\n\nJane'],
  ['answers between quotes', '> Ship it?\n\nYes.\n\n> To Vienna?\n\nNo.'],
  ['a sentence that looks like an introduction', 'On Monday I wrote:\nnothing at all.'],
  ['a line that begins like a header', 'From: what I see, it works.\nThanks'],
])('%s has no quote', (_, text) => {
  expect(replyText(text)).toBeUndefined();
});

test('a reply of a quote alone is empty', () => {
  expect(replyText('> Ship it?')).toBe('');
});

test('any text is read in linear time', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const reply = replyText(text);
      expect(reply === undefined || reply.length <= text.length).toBe(true);
    }),
  );
  const startedMs = performance.now();
  for (const hostile of [
    'On ',
    'On 1 wrote',
    '>\n',
    '\n',
    '-',
    '_',
    'From: x\n',
    'Am 1 schrieb ',
  ]) {
    replyText(hostile.repeat(200_000));
    replyText(`${hostile.repeat(30)}\n`.repeat(20_000));
  }
  expect(performance.now() - startedMs).toBeLessThan(5_000);
});
