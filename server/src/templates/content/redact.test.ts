import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { renderComplete } from '../engine/try-render.ts';
import { createRedactor, REDACTED, secretValues } from './redact.ts';

/**
 * Goal: no form of a secret survives redaction. Method: the engine renders secrets in every context and
 * encoding; the output is redacted and searched.
 */

const LINK = 'https://app.example/reset?token=a+b/c=&next=/home#x';

describe('a secret', () => {
  it.each([
    ['as it is', `see ${LINK}.`],
    ['in html', renderComplete('<a href="{{ v }}">{{ v }}</a>', 'html', { v: LINK })],
    [
      'in a URL',
      renderComplete('<a href="https://t.example/?u={{ v | url_encode }}">', 'html', { v: LINK }),
    ],
    [
      'in a comment',
      renderComplete('<!--[if mso]><a href="{{ v }}"><![endif]-->', 'html', { v: 'one-time-code' }),
    ],
    ['in JSON', JSON.stringify({ html: `"${LINK}"` })],
    [
      'in JSON as html',
      JSON.stringify({ html: renderComplete('{{ v }}', 'html', { v: `"${LINK}"` }) }),
    ],
    ['in lower-case hex', encodeURIComponent(LINK).replace(/%../g, (hex) => hex.toLowerCase())],
    ['in upper case', renderComplete('{{ v | upcase }}', 'text', { v: 'one-time-code' })],
  ])('is removed %s', (_, shown) => {
    const clean = createRedactor([LINK, 'one-time-code']).text(shown);
    expect(clean).toContain(REDACTED);
    expect(clean).not.toMatch(/token|one-time|ONE-TIME/);
  });

  it.each([
    ['too long for a pattern', ['<'.repeat(16_000)]],
    ['extremely long', ['<'.repeat(1_500_000)]],
    ['together too long', Array.from({ length: 200 }, (_, i) => `${i}${'<'.repeat(500)}`)],
  ])('hides everything when it is %s', (_, secrets) => {
    expect(createRedactor(secrets).text(`see ${secrets[0]}`)).toBe(REDACTED);
    expect(createRedactor(secrets).text('')).toBe('');
  });

  it('hides everything when searching would take too long', () => {
    const secret = `${'a'.repeat(20)}b${'a'.repeat(5_000)}`;
    expect(createRedactor([secret]).text('a'.repeat(1_500_000))).toBe(REDACTED);
  });

  it('is removed from everything rendered with it', () => {
    const secret = fc
      .string({ unit: 'grapheme', minLength: 4, maxLength: 30 })
      .filter((text) => text.trim() === text && text.length >= 4);
    fc.assert(
      fc.property(secret, (v) => {
        const { text } = createRedactor([v]);
        for (const [source, place] of [
          ['{{ v }}', 'html'],
          ['<p title="{{ v }}">', 'html'],
          ['{{ v }}', 'text'],
          ['{{ v | url_encode }}', 'text'],
          ['{{ v | url_encode }}', 'html'],
        ] as const) {
          const shown = renderComplete(source, place, { v });
          const harmless = renderComplete(source, place, { v: REDACTED }).replace(
            /%5Bredacted%5D/,
            REDACTED,
          );
          expect(text(shown)).toBe(harmless);
        }
      }),
    );
  });

  it('is removed from JSON values, keys and numbers at any depth', () => {
    const { json } = createRedactor(['hunter2!', 424242]);
    const event = {
      data: [{ text: 'pw hunter2!', code: 424242, n: 1 }],
      'hunter2!': null,
      ok: true,
    };
    expect(json(event)).toEqual({
      data: [{ text: 'pw [redacted]', code: REDACTED, n: 1 }],
      [REDACTED]: null,
      ok: true,
    });
    expect(event.data[0]?.text).toBe('pw hunter2!');
    let deep: unknown = 'hunter2!';
    for (let i = 0; i < 1000; i++) deep = [deep];
    expect(JSON.stringify(json(deep))).not.toContain('hunter2');
  });

  it('is only removed as a whole word when it is short', () => {
    expect(createRedactor(['42']).text('42 apples, 1420 pears, (42)')).toBe(
      '[redacted] apples, 1420 pears, ([redacted])',
    );
  });

  it('contained in another is removed with it; without secrets nothing changes', () => {
    expect(createRedactor(['abcd', 'abcdefgh']).text('abcdefgh abcd')).toBe(
      '[redacted] [redacted]',
    );
    expect(createRedactor([]).text('x')).toBe('x');
    expect(createRedactor(['', ' ', null]).text('x  y')).toBe('x  y');
    expect(createRedactor(['$&.*(']).text('a $&.*( b')).toBe('a [redacted] b');
  });
});

it('finds the values of secret variables', () => {
  const variables = [
    { name: 'link', secret: true },
    { name: 'name' },
    { name: 'codes[].value', secret: true },
    { name: 'user.pin', secret: true, default: '0000' },
    { name: '__proto__.x', secret: true },
  ];
  const values = { link: 'L', name: 'N', codes: [{ value: 1 }, { value: 2 }], user: { pin: null } };
  expect(secretValues(variables, values)).toEqual(['L', 1, 2, '0000']);
});
