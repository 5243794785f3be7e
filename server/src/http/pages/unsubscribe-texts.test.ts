import { expect, test } from 'vitest';
import { subscriptionPage } from './unsubscribe-page.ts';
import { chooseLanguage } from './unsubscribe-texts.ts';

const languageOf = (locale: string | null, accept?: string) =>
  chooseLanguage(locale, accept).language;

test('the language is that of the contact, or else the first of the browser that exists', () => {
  expect(languageOf('de-AT', 'fr')).toBe('de');
  expect(languageOf(null, 'pl, fr-CA;q=0.8, en')).toBe('fr');
  expect(languageOf('pl', 'constructor, ES')).toBe('es');
  expect(languageOf(null)).toBe('en');
  expect(languageOf(null, `${'x,'.repeat(100_000)}de`)).toBe('en');
});

test('names and colors cannot break out of the page', () => {
  const view = {
    stream: { key: 'a', name: '<script>alert(1)</script>', state: 'subscribed' as const },
    others: [{ key: 'b', name: '<script>alert(2)</script>', state: 'blocked' as const }],
    senderName: '"><img src=x>',
    logoUrl: 'https://a.example/"onerror="alert(1)',
    color: '#ffffff',
    locale: null,
  };
  const page = subscriptionPage(view, chooseLanguage('de', undefined));
  expect(page).not.toContain('<script>');
  expect(page).not.toContain('<img src=x>');
  expect(page).not.toContain('"onerror=');
  expect(page).toContain('<html lang="de">');
  // Dark text on a light color.
  expect(page).toContain('--on-main:#000000');
});

test('after a form, the heading and the title say what the recipient receives now', () => {
  const texts = chooseLanguage('en', undefined);
  const view = (state: 'subscribed' | 'unsubscribed') => ({
    stream: { key: 'a', name: 'Digest', state },
    others: [],
    senderName: 'Example Ltd.',
    logoUrl: null,
    color: null,
    locale: null,
  });
  const headOf = (page: string) => [
    /<title>(.*)<\/title>/.exec(page)?.[1],
    /<h1>(.*)<\/h1>/.exec(page)?.[1]?.replaceAll(/<[^>]*>/g, ''),
  ];
  const before = subscriptionPage(view('subscribed'), texts);
  expect(headOf(before)).toEqual(['Unsubscribe · Example Ltd.', 'Unsubscribe']);
  const left = subscriptionPage(view('unsubscribed'), texts, 'unsubscribe');
  const status = 'You are unsubscribed from Digest from Example Ltd.';
  expect(headOf(left)).toEqual([`${status} · Example Ltd.`, status]);
  const back = subscriptionPage(view('subscribed'), texts, 'resubscribe');
  expect(headOf(back)[1]).toBe('You are subscribed to Digest again');
  expect(back).not.toContain('Do you want');
});
