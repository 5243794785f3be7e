// biome-ignore-all lint/suspicious/noTemplateCurlyInString: placeholders are the subject here.
import { expect, it } from 'vitest';
import { followPartials, parseLayout, renderInLayout } from './layout.ts';
import { canonicalLocale, pickLocale, variantGaps } from './locales.ts';
import { type Partials, parseContent, RenderBudget } from './substitution.ts';

it('puts the template into its layout, unescaped in html, plain in text', () => {
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

it("tells what the layout misses under the layout's own name", () => {
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
  ['<p>no place</p>', /needs/],
  ['{{ content }}{{ content }}', /more than once/],
  ['<p title="{{ content }}">', /not in a tag/],
  ['<style>{{ content }}</style>', /not in a tag/],
])('refuses the layout %s', (source, detail) => {
  expect(() => parseLayout(source, 'html', 'layout.html')).toThrow(detail);
});

it('follows partials, finds circles and what does not exist', () => {
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
  ['de-AT', 'de-AT'],
  ['de-CH', 'de'],
  ['de-at', 'de-AT'],
  ['de_AT', 'de-AT'],
  ['zh-Hant-TW', 'zh-Hant'],
  ['en-US-u-ca-gregory', 'en'],
  ['fr', undefined],
  ['not a locale', undefined],
  [undefined, undefined],
])('falls back from %s to %s', (wanted, expected) => {
  expect(pickLocale(wanted, ['de', 'de-AT', 'zh-Hant', 'en'])).toBe(expected);
});

it("knows a locale's usual spelling", () => {
  expect(canonicalLocale('EN-us')).toBe('en-US');
  expect(canonicalLocale('x'.repeat(200))).toBeUndefined();
});

it('tells what a variant lacks', () => {
  const field = (source: string, place: 'html' | 'text' | 'header') =>
    parseContent(source, place, place);
  const base = {
    subject: field('Hi ${name}', 'header'),
    html: field('{{ order.id }}', 'html'),
    text: field('x', 'text'),
  };
  const gaps = variantGaps(base, {
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
