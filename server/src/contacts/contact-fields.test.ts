import { describe, expect, it } from 'vitest';
import { mergeAttributes, parseContact } from './contact-fields.ts';

/** The API and imports share these rules: every accepted value can be stored and rendered. */

function errorsOf(given: Record<string, unknown>): string[] {
  const parsed = parseContact(given);
  return parsed.ok ? [] : parsed.errors.map(({ pointer, code }) => `${pointer} ${code}`);
}

describe('fields', () => {
  it('reads subscriptions in their short form and as exported, without the source', () => {
    const changed_at = '2026-01-01T00:00:00.000Z';
    const parsed = parseContact({
      subscriptions: {
        news: 'unsubscribed',
        digest: { status: 'subscribed', changed_at, source: 'page' },
      },
    });
    expect(parsed).toEqual({
      ok: true,
      change: {
        subscriptions: [
          { stream: 'news', status: 'unsubscribed', changedAtMs: null },
          { stream: 'digest', status: 'subscribed', changedAtMs: Date.parse(changed_at) },
        ],
      },
    });
  });

  it('keeps values and treats empty ones as null', () => {
    const parsed = parseContact({
      email: 'Jane@Example.com',
      first_name: 'Jane',
      last_name: '',
      locale: 'DE-at',
      attributes: { plan: 'pro', address: { city: 'Vienna' }, gone: null },
    });
    expect(parsed).toMatchObject({
      ok: true,
      change: {
        mailbox: { email: 'Jane@example.com', key: 'jane@example.com' },
        firstName: 'Jane',
        lastName: null,
        locale: 'de-AT',
        attributes: { plan: 'pro', address: { city: 'Vienna' }, gone: null },
      },
    });
    expect(parseContact({})).toEqual({ ok: true, change: {} });
  });

  const deep = JSON.parse(`${'['.repeat(20)}1${']'.repeat(20)}`);
  it.each<[string, Record<string, unknown>, string[]]>([
    ['an invalid address', { email: 'jane' }, ['/email invalid_email']],
    ['an address of the wrong type', { email: 1 }, ['/email invalid_type']],
    ['a line break in a name', { first_name: 'a\nb' }, ['/first_name invalid_text']],
    ['half of a surrogate pair in a name', { last_name: '\ud800' }, ['/last_name invalid_text']],
    ['a long name', { last_name: 'x'.repeat(256) }, ['/last_name too_long']],
    ['a number as a name', { first_name: 1 }, ['/first_name invalid_type']],
    ['not a language tag', { locale: 'not a language' }, ['/locale invalid_locale']],
    ['an unknown field', { phone: '1' }, ['/phone unknown_field']],
    ['attributes that are a list', { attributes: [] }, ['/attributes invalid_type']],
    ['a reserved name', { attributes: { email: 'x' } }, ['/attributes/email reserved_name']],
    [
      'the name of a column for subscriptions',
      { attributes: { 'Subscription:news': 'x' } },
      ['/attributes/Subscription:news reserved_name'],
    ],
    ['subscriptions that are a list', { subscriptions: ['news'] }, ['/subscriptions invalid_type']],
    [
      'not a stream',
      { subscriptions: { 'No/w': 'subscribed' } },
      ['/subscriptions/No~1w invalid_name'],
    ],
    ['an unknown status', { subscriptions: { news: true } }, ['/subscriptions/news invalid_value']],
    [
      'a subscription without a status',
      { subscriptions: { news: {} } },
      ['/subscriptions/news/status invalid_value'],
    ],
    [
      'a time without an offset',
      { subscriptions: { news: { status: 'subscribed', changed_at: '2026-01-01T00:00:00' } } },
      ['/subscriptions/news/changed_at invalid_time'],
    ],
    [
      'an unknown field of a subscription',
      { subscriptions: { news: { status: 'subscribed', by: 'x' } } },
      ['/subscriptions/news/by unknown_field'],
    ],
    ['an empty name', { attributes: { '': 1 } }, ['/attributes/ invalid_name']],
    ['NUL', { attributes: { a: ['x\0'] } }, ['/attributes/a/0 invalid_text']],
    ['NUL in a name', { attributes: { 'a\0': 1 } }, ['/attributes/a\ufffd invalid_name']],
    ['too deep', { attributes: { a: deep } }, ['/attributes too_deep']],
    ['too large', { attributes: { a: 'x'.repeat(32 * 1024) } }, ['/attributes too_large']],
    [
      'not a number',
      { attributes: { a: Number.POSITIVE_INFINITY } },
      ['/attributes/a invalid_value'],
    ],
    [
      'an attempt to reach the prototype',
      { attributes: JSON.parse('{"a":{"__proto__":{"x":1}}}') },
      ['/attributes/a/__proto__ invalid_name'],
    ],
    [
      'several at once',
      { email: '', locale: 1 },
      ['/email invalid_email', '/locale invalid_locale'],
    ],
  ])('%s', (_, given, wrong) => {
    expect(errorsOf(given)).toEqual(wrong);
  });

  it('report at most a hundred errors', () => {
    const attributes = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`a${i}`, '\0']));
    expect(errorsOf({ attributes })).toHaveLength(100);
  });
});

describe('attributes', () => {
  it('merges by name and removes by null', () => {
    const before = { a: 1, b: { c: 2, d: 3 }, e: 4 };
    expect(mergeAttributes(before, { b: { c: 5 }, e: null, f: 6 })).toEqual({
      a: 1,
      b: { c: 5 },
      f: 6,
    });
    expect(mergeAttributes(before, null)).toEqual({});
    expect(mergeAttributes(before, undefined)).toBe(before);
  });

  it('cannot grow too large by merging', () => {
    const large = { a: 'x'.repeat(20_000) };
    expect(mergeAttributes(large, { b: 'x'.repeat(20_000) })).toBeUndefined();
  });
});
