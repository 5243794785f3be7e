import { describe, expect, it } from 'vitest';
import { type ContentSyntaxError, parseContent } from '../template-engine.ts';
import { FILTERS } from './filters.ts';
import { equivalentFilter } from './liquid-hints.ts';
import { renderComplete } from './try-render.ts';

/**
 * Goal: authors learn what is wrong and where, and text that only resembles a placeholder is left
 * alone. Method: a table of errors with their lines, columns and messages.
 */

describe('syntax errors', () => {
  it.each([
    ['Hi ${name', 1, 4, /not closed/],
    ['Hi ${name\n}', 1, 4, /not closed/],
    ['${}', 1, 1, /does not name a variable/],
    ['${a b}', 1, 1, /not a name/],
    ['${5}', 1, 1, /not a name/],
    ['${a | upcase}', 1, 1, /does not support filters/],
    ['${${a}}', 1, 1, /cannot be nested/],
    ['${ {{a}} }', 1, 1, /cannot be nested/],
    ['x\n  {{ name', 2, 3, /not closed/],
    ['{{ {{ a }} }}', 1, 4, /cannot be nested/],
    ['{{ "${a}" }}', 1, 4, /inside a string/],
    ['{{{ a }}}', 1, 1, /Triple braces/],
    ['{{{ name | my friend }}}', 1, 1, /`{{ name \| default: "my friend" }}`/],
    ['{{{ a.b }}}', 1, 1, /`{{ a.b }}`, or `{{ a.b \| raw }}`/],
    ['{{{ a == b }}}', 1, 1, /Triple braces/],
    ['{{& a }}', 1, 3, /`{{ a \| raw }}`/],
    ['{{#if a.b}}', 1, 3, /Write `{% if a.b %}…{% endif %}`/],
    ['{{#unless a}}', 1, 3, /Write `{% unless a %}…{% endunless %}`/],
    ['{{#each order.lines}}', 1, 3, /Write `{% for item in order.lines %}…{% endfor %}`/],
    ['{{#each lines as |line|}}', 1, 3, /Write `{% for line in lines %}/],
    ['{{#with user}}', 1, 3, /`{{ user.name }}`/],
    ['{{#lines}}', 1, 3, /`{% if lines %}…{% endif %}`, or for a list, `{% for item in lines %}/],
    ['{{^lines}}', 1, 3, /`{% unless lines %}/],
    ['{{#if (eq a b)}}', 1, 3, /not Liquid/],
    ['x {{/if}}', 1, 5, /`{% endif %}`/],
    ['{{/each}}', 1, 3, /`{% endfor %}`/],
    ['{{else}}', 1, 3, /`{% else %}`/],
    ['{{> footer}}', 1, 3, /`{% render "footer" %}`/],
    ['{{! note }}', 1, 3, /{% comment %}/],
    ['{{@index}}', 1, 3, /forloop.index/],
    ['{{.}}', 1, 3, /Name the item/],
    ['{{../name}}', 1, 3, /`{{ name }}`/],
    ['{{ name or "you" }}', 1, 4, /default: "there"/],
    ['{{ a and b | upcase }}', 1, 4, /returns true or false/],
    ['{{ a | default("x") }}', 1, 15, /follow a colon/],
    ['{{ a + 1 }}', 1, 7, /only filters can follow/],
    ['{{ a | upper }}', 1, 8, /Did you mean `upcase`/],
    ['{{ a | nl2br }}', 1, 8, /Did you mean `newline_to_br`/],
    ['{{ }}', 1, 1, /empty/],
    ['{{ a b }}', 1, 6, /Unexpected/],
    ['{{ a | nofilter }}', 1, 8, /Unknown filter `nofilter`/],
    ['{{ a | upcas }}', 1, 8, /Did you mean `upcase`/],
    ['{{ a | append }}', 1, 8, /takes 1 argument/],
    ['{{ a | money }}', 1, 8, /takes 1 argument/],
    ['{{ "a }}', 1, 1, /not closed/],
    ['{% if a %}', 1, 1, /not closed by `{% endif %}`/],
    ['{% endif %}', 1, 1, /does not belong to an open block/],
    ['{% if a %}{% endfor %}', 1, 1, /not closed by `{% endif %}`/],
    ['{% for a in %}{% endfor %}', 1, 12, /Expected a value/],
    ['{% for a of b %}{% endfor %}', 1, 1, /written/],
    ['{% fro a in b %}', 1, 1, /Did you mean `for`/],
    ['{% include "x" %}', 1, 1, /not supported/],
    ['{% layout "x" %}', 1, 1, /not supported/],
    ['{% assign contact = 1 %}', 1, 1, /reserved/],
    ['{% for message in a %}{% endfor %}', 1, 1, /reserved/],
    ['{% break %}', 1, 1, /outside a loop/],
    ['{% raw %}', 1, 1, /not closed/],
    ['{% comment %}', 1, 1, /not closed/],
    ['{% %}', 1, 1, /start with its name/],
    ['{% if a == %}{% endif %}', 1, 9, /is missing a value/],
  ])('%s', (source, line, column, detail) => {
    const parse = () => parseContent(source, 'text', 'text');
    const error = refusal(parse);
    expect(error).toMatchObject({ code: 'template_syntax', field: 'text' });
    expect(error.issues[0]).toMatchObject({ line, column });
    expect(error.detail).toMatch(detail);
  });

  it('are reported all at once, without follow-up errors', () => {
    const source = [
      '{{ a | upcas }}',
      '{% if b == %}{{ c d }}{% elsif %}{{ fine }}{% endif %}',
      '{% for x of y %}{{ x | nofilter }}{% break %}{% endfor %}',
      '{% case %}{% when %}{{ fine }}{% endcase %}{% capture contact %}{% endcapture %}',
      '{% fro %}',
      '{{#if a}}{{/if}}',
    ].join('\n');
    const {
      issues: mistakes,
      message,
      errors,
    } = refusal(() => parseContent(source, 'text', 'text'));
    const places = mistakes.map(({ line, column }) => `${line}:${column}`);
    const wrong = '1:8 2:9 2:19 2:31 3:1 3:24 4:8 4:18 4:44 5:1 6:3 6:12'.split(' ');
    expect(places).toEqual(wrong);
    expect(errors).toHaveLength(wrong.length);
    expect(message).toMatch(/^text, line 1, column 8: .* There are 11 more errors\.$/);
  });

  it('are limited in number', () => {
    const { issues: mistakes } = refusal(() =>
      parseContent('{{ a b }}'.repeat(50), 'text', 'text'),
    );
    expect(mistakes).toHaveLength(20);
  });

  it.each(['}}', '%}', '}', '$', '{', '$ {a}', '{ {a} }', '$name', 'a { b: c }', '\\{', '{ %'])(
    'leaves %s alone',
    (source) => {
      expect(renderComplete(source, 'text', {})).toBe(source);
    },
  );
});

it('suggests only existing filters', () => {
  const others = ['upper', 'lower', 'title', 'safe', 'nl2br', 'trim', 'length', 'number_format'];
  const more = ['currency', 'fallback', 'd', 'strftime', 'urlencode', 'tojson', 'plural'];
  for (const name of [...others, ...more])
    expect(FILTERS.has(equivalentFilter(name) ?? name)).toBe(true);
});

function refusal(act: () => unknown): ContentSyntaxError {
  try {
    act();
  } catch (error) {
    return error as ContentSyntaxError;
  }
  throw new Error('was not rejected');
}
