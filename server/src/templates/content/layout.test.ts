import { expect, it } from 'vitest';
import { canonicalLocale, localeChain, translationGaps } from '../locales.ts';
import { type Partials, parseContent, RenderBudget } from '../template-engine.ts';
import { followPartials, parseLayout, renderInLayout } from './layout.ts';
import { contentForLocale, EMPTY_CONTENT, fieldName } from './stored-content.ts';

it('inserts the template into its layout, unescaped in html and plain in text', () => {
  const scope = { name: '<J>', company: 'A&B' };
  const budget = new RenderBudget();
  const html = renderInLayout(
    parseContent('<p>{{ name }}</p>', 'html', 'html'),
    parseLayout('<main>{{ content }}</main>{{ company }}', 'html', 'layout.html'),
    scope,
    { budget },
  );
  expect(html).toBe('<main><p>&lt;J&gt;</p></main>A&amp;B');
  const text = renderInLayout(
    parseContent('${name}', 'text', 'text'),
    parseLayout('{{ content }}\n--', 'text', 'layout.text'),
    scope,
    { budget },
  );
  expect(text).toBe('<J>\n--');
  expect(renderInLayout(parseContent('x', 'text', 'text'), undefined, {}, { budget })).toBe('x');
  expect(budget.missing).toEqual([]);
});

it("reports values missing in the layout under the layout's field", () => {
  const budget = new RenderBudget();
  renderInLayout(
    parseContent('{{ a }}', 'html', 'html'),
    parseLayout('{{ content }}{{ b }}', 'html', 'layout.html'),
    {},
    { budget },
  );
  expect(budget.missing.map(({ field, path }) => `${field} ${path}`)).toEqual([
    'html a',
    'layout.html b',
  ]);
});

it.each([
  ['<p>no slot</p>', /must contain `{{ content }}` where/],
  ['{{ content }}{{ content }}', /only once/],
  ['<p title="{{ content }}">', /not in a tag/],
  ['<style>{{ content }}</style>', /not in a tag/],
])('rejects the layout %s', (source, detail) => {
  expect(() => parseLayout(source, 'html', 'layout.html')).toThrow(detail);
});

it('follows partials and finds cycles and missing ones', () => {
  const sources: Record<string, string> = {
    a: '{% render "b" %}{% render "c" %}',
    b: 'x',
    c: '{% render "d" %}',
    d: '{% render "c" %}',
  };
  const partials: Partials = (key, place) => {
    const source = Object.hasOwn(sources, key) ? sources[key] : undefined;
    return source === undefined ? undefined : parseContent(source, place, key);
  };
  const follow = (source: string) =>
    followPartials([parseContent(source, 'html', 'html')], partials);
  expect(follow('{% render "b" %}')).toEqual({ keys: ['b'], missing: [], cycle: undefined });
  expect(follow('{% render "a" %}{% render "nope" %}')).toEqual({
    keys: ['a', 'b', 'c', 'd'],
    missing: ['nope'],
    cycle: ['c', 'd', 'c'],
  });
});

it.each([
  ['de-AT', ['de-AT', 'de']],
  ['de-CH', ['de']],
  ['de-at', ['de-AT', 'de']],
  ['de_AT', ['de-AT', 'de']],
  ['zh-Hant-TW', ['zh-Hant']],
  ['en-US-u-ca-gregory', ['en']],
  ['fr', []],
  ['not a locale', []],
  [undefined, []],
])('falls back from %s to %j', (wanted, expected) => {
  expect(localeChain(wanted, ['de', 'de-AT', 'zh-Hant', 'en'])).toEqual(expected);
});

it('takes each field from the most specific variant that has it, but no text beyond the html', () => {
  const content = {
    ...EMPTY_CONTENT,
    ...{ subject: 'own', html: 'own', text: 'own' },
    locales: {
      de: { subject: 'de', html: 'de' },
      'de-AT': { subject: 'at' },
      'de-AT-1996': { text: '1996' },
      fr: { text: 'fr' },
    },
  };
  const words = (locale: string) => contentForLocale(content, locale);
  expect(words('de-AT')).toEqual({ subject: 'at', html: 'de', locale: 'de-AT' });
  expect(words('de-AT-1996')).toEqual({
    ...{ subject: 'at', html: 'de', text: '1996' },
    locale: 'de-AT-1996',
  });
  expect(words('fr-CA')).toEqual({ subject: 'own', html: 'own', text: 'fr', locale: 'fr' });
  expect(words('it')).toEqual({ subject: 'own', html: 'own', text: 'own', locale: undefined });
  expect(fieldName(content, 'de-AT', 'html')).toBe('locales.de.html');
  expect(fieldName(content, 'fr', 'subject')).toBe('subject');
});

it('canonicalizes locales', () => {
  expect(canonicalLocale('EN-us')).toBe('en-US');
  expect(canonicalLocale('x'.repeat(200))).toBeUndefined();
});

it('lists what a variant lacks', () => {
  const field = (source: string, place: 'html' | 'text' | 'header') =>
    parseContent(source, place, place);
  const base = {
    subject: field('Hi ${name}', 'header'),
    html: field('{{ order.id }}', 'html'),
    text: field('x', 'text'),
  };
  const gaps = translationGaps(base, {
    de: {
      subject: field('Hallo ${name}', 'header'),
      html: field('{{ order.id }}', 'html'),
      text: field('y', 'text'),
    },
    fr: { subject: field('Salut', 'header'), html: field('{{ order.id }}', 'html') },
  });
  expect(gaps).toEqual([
    { locale: 'fr', kind: 'field', name: 'text' },
    { locale: 'fr', kind: 'path', name: 'name' },
  ]);
});
