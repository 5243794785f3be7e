import { expect, it } from 'vitest';
import { contentSlot, inlinePage } from './inline-page.ts';

/** Goal: the rules of a page apply to all its sources and change nothing else in them. */

const LAYOUT =
  '<style>h1 { color: red } .small { color: gray }</style><h1>L</h1>{{ content }}<p class="small">E</p>';

it('inlines rules of the layout into the template, the layout and the partials', () => {
  const page = inlinePage('<h1>T</h1>{% render "p" %}', LAYOUT, ['<i class="small">P</i>']);
  expect(page.body).toBe('<h1 style="color: red;">T</h1>{% render "p" %}');
  expect(page.layout).toBe(
    LAYOUT.replace('<h1>', '<h1 style="color: red;">').replace(
      '<p class',
      '<p style="color: gray;" class',
    ),
  );
  expect(page.partial('<i class="small">P</i>')).toBe(
    '<i style="color: gray;" class="small">P</i>',
  );
});

it('also applies style sheets of the template and of partials', () => {
  const sheet = '<style>b { color: blue }</style>';
  expect(inlinePage(`${sheet}<b>T</b>`, '<b>L</b>{{ content }}', []).layout).toBe(
    '<b style="color: blue;">L</b>{{ content }}',
  );
  const page = inlinePage('<b>T</b>', undefined, [sheet]);
  expect(page.body).toBe('<b style="color: blue;">T</b>');
  expect(page.partial(sheet)).toBe(sheet);
});

it('leaves a page without style sheets unchanged', () => {
  const page = inlinePage('<p>{{ a }}</p>', '<div>{{- content -}}</div>', ['<i>x</i>']);
  expect([page.body, page.layout, page.partial('<i>x</i>')]).toEqual([
    '<p>{{ a }}</p>',
    '<div>{{- content -}}</div>',
    '<i>x</i>',
  ]);
});

it('is left unchanged when the sources together have too many placeholders', () => {
  const many = `<style>p{color:red}</style>${'<p>{{ a }}</p>'.repeat(3_000)}`;
  const page = inlinePage(many, `${many}{{ content }}`, []);
  expect(page.body).toBe(many);
});

it.each([
  ['a{{ content }}b', '{{ content }}'],
  ['{{ contents }}{{- content | raw -}}', '{{- content | raw -}}'],
  ['{% raw %}{{ content }}{% endraw %}${content}', '${content}'],
])('finds the content slot in %s', (layout, place) => {
  const { start, end } = contentSlot(layout) ?? { start: 0, end: 0 };
  expect(layout.slice(start, end)).toBe(place);
});
