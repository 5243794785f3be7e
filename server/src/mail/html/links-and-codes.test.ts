// Goal: an end-to-end test can follow a sign-up email: the right link, and the right code first.
// Method: realistic emails in several languages, including misleading numbers.
import { describe, expect, it } from 'vitest';
import { extractCodes, extractLinks } from './links-and-codes.ts';

describe('links', () => {
  it('are decoded, deduplicated and in document order', () => {
    const html = `<a href="https://example.com/confirm?a=1&amp;b=2">Confirm</a>
      <A HREF='http://example.org/'>Home</A> <a href=" https://example.com/x ">x</a>
      <a href=https://example.com/bare>bare</a> <area href="https://example.com/map">
      <a href="https://example.com/confirm?a=1&amp;b=2">again</a>
      <a href="https://example.com/?a=1&copy=2">no sign</a>`;
    expect(extractLinks(html, '')).toEqual([
      'https://example.com/confirm?a=1&b=2',
      'http://example.org/',
      'https://example.com/x',
      'https://example.com/bare',
      'https://example.com/map',
      'https://example.com/?a=1&copy=2',
    ]);
  });

  it('exclude other schemes and things that are not links', () => {
    const html = `<a href="/relative">r</a><a href="#top">t</a><a href="mailto:a@b.co">m</a>
      <a href="javascript:alert(1)">j</a><a name="x">n</a><a href="https://">e</a>
      <img src="https://example.com/logo.png"><!-- <a href="https://example.com/hidden">h</a> -->
      <style>a{background:url(https://example.com/bg)}</style>`;
    expect(extractLinks(html, '')).toEqual([]);
  });

  it('are found in text without surrounding punctuation', () => {
    const text = `See https://example.com/a. Or (https://example.com/b), "https://example.com/c"!
      <https://example.com/d> and https://example.com/e_(f)?g=h;
      Confirm (https://example.com/i_(j))`;
    expect(extractLinks('', text)).toEqual([
      'https://example.com/a',
      'https://example.com/b',
      'https://example.com/c',
      'https://example.com/d',
      'https://example.com/e_(f)?g=h',
      'https://example.com/i_(j)',
    ]);
  });

  it('are bounded in number and time', () => {
    const many = Array.from({ length: 5000 }, (_, i) => `<a href="https://example.com/${i}">`);
    expect(extractLinks(many.join(''), '')).toHaveLength(500);
    expect(extractLinks('<a href="'.repeat(100_000), `https://${'('.repeat(100_000)}`)).toEqual([]);
  });
});

describe('one-time codes', () => {
  it.each([
    ['Your verification code is 482913.', '482913'],
    ['482913 is your Acme verification code.', '482913'],
    ['G-482913 is your verification code', '482913'],
    ['Your code: 482 913', '482913'],
    ['Your code: 482-913', '482913'],
    ['Enter the following code to sign in:\n\n   7391\n\nIt expires in 10 minutes.', '7391'],
    ['Your one-time PIN is 20251234. Do not share it.', '20251234'],
    ['Use 551902 to confirm your order.', '551902'],
    ['To verify your account, enter 102938', '102938'],
    ['Your login code is 2024', '2024'],
    ['Ihr Bestätigungscode lautet: 883120', '883120'],
    ['Votre code de vérification : 661204', '661204'],
    ['Tu código es 771234', '771234'],
    ['您的验证码是 339201', '339201'],
    ['Recovery code: K7P2XW9Q', 'K7P2XW9Q'],
    ['Hello Jane,\n\n482913\n\nThe Acme team', '482913'],
  ])('%j holds %s', (text, code) => {
    expect(extractCodes(text)).toEqual([code]);
  });

  it.each([
    '© 2024 Acme GmbH, all rights reserved',
    'Serving customers since 2019.\nHello\n2025\nGoodbye',
    'Use 1500 points, enter EUR 2000 or type in 3000 USD',
    'Total: €1234.00, or USD 1500, or 2000 EUR, or $ 4999',
    'Order #482913 has shipped',
    'Your order number is 482913',
    'Invoice 20250117\nRechnungsnummer: 482913',
    'Call us: +49 30 1234 5678 or 555-123-4567, Tel. 482913',
    'Acme GmbH, Hauptstr. 1, 10115 Berlin\nSan Francisco, CA 94107',
    'Placed on 2025-01-17 at 10:30, 17/01/2025, 17.01.2025',
    'Get 20% off with promo code SAVE20NOW',
    'https://example.com/confirm/482913 and jane482913@example.com',
    'You earned 1200 points in 1440 minutes',
    'WELCOME ABOARD, EVERYBODY',
    'Customer number 482913, tracking 12345678',
  ])('finds none in %j', (text) => {
    expect(extractCodes(text)).toEqual([]);
  });

  it('come most likely first, without duplicates', () => {
    const text = `Order number 99887766, placed 2025-01-17.\nHi Jane,\n\n4711\n\nYour confirmation code is 482 913
      (valid for 30 minutes). Again: code 482913.\nAcme GmbH, 10115 Berlin, © 2025`;
    expect(extractCodes(text)).toEqual(['482913', '4711']);
  });

  it('are found in bounded time', () => {
    const hostile = [
      '1 '.repeat(100_000),
      '12345 '.repeat(50_000),
      'a'.repeat(500_000),
      'A1'.repeat(200_000),
    ];
    for (const text of hostile) expect(extractCodes(text).length).toBeLessThanOrEqual(200);
  });
});
