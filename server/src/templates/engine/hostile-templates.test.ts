import { describe, expect, it } from 'vitest';
import { parseContent } from '../template-engine.ts';
import { renderComplete, tryRender } from './try-render.ts';

/**
 * Goal: neither a template nor a value can reach the prototype, another render or the host, or keep
 * the server busy. Method: known attacks, each of which must end as a missing value or a limit. Work
 * is counted, so the tests need no clock: a test that hangs fails by vitest's own timeout.
 */

describe('the prototype', () => {
  const secret = { own: 'yes', list: [{ own: 'a' }], text: 'abc', n: 1, f: () => 'called' };
  const paths = [
    ...[
      'constructor',
      '__proto__',
      'toString',
      'hasOwnProperty',
      'valueOf',
      'f',
      'process',
      'globalThis',
    ],
    ...[
      'own.constructor',
      'own.length',
      'list.constructor',
      'list.map',
      'list.length',
      'text.length',
    ],
    ...[
      'text.constructor.name',
      'n.toFixed',
      'list[0].__proto__',
      'own["constructor"]',
      'list["push"]',
    ],
    ...['list["__proto__"]', 'forloop', 'this', 'contact.constructor', 'contact.__proto__.x'],
  ];
  it.each(paths)('is not reachable: %s', (path) => {
    const { text, missing } = tryRender(`{{ ${path} }}`, 'text', { ...secret, contact: {} });
    expect(text).toBe('');
    expect(missing).toHaveLength(1);
    const rendered = renderComplete(`{% if ${path} %}reached{% endif %}`, 'text', {
      ...secret,
      contact: {},
    });
    expect(rendered).toBe('');
  });

  it.each([
    '{{ list | map: "constructor" | join }}',
    '{{ list | map: "__proto__" | join }}',
    '{{ list | map: "own.constructor" | join }}',
    '{{ list | where: "constructor" | size }}',
    '{{ list | where: "__proto__" | size }}',
    '{{ list | find: "toString" | json }}',
    '{{ list | group_by: "constructor" | map: "name" | join }}',
    '{{ list | sum: "constructor" }}',
    '{{ list | sort: "__proto__" | map: "constructor" | join }}',
    '{% if list contains constructor %}x{% endif %}',
    '{% assign k = "constructor" %}{{ list[k] | default: "" }}',
    '{% for p in __proto__ %}x{% else %}{% endfor %}',
  ])('is not reachable through filters: %s', (source) => {
    expect(tryRender(source, 'text', secret).text).toMatch(/^(0|null|)$/);
  });

  it('is not modified through names chosen by callers', () => {
    const scope = JSON.parse('{"__proto__": {"polluted": 1}, "a": {"__proto__": {"polluted": 2}}}');
    const defaults = JSON.parse('{"__proto__.polluted": 3, "constructor.prototype.polluted": 4}');
    tryRender('{% assign __proto__ = a %}{{ a.polluted }}{{ polluted }}', 'text', scope, {
      defaults,
    });
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it('handles values that cannot be converted to text', () => {
    for (const v of [{ toString: 1, valueOf: null }, [{ toString: 'x' }], { toJSON: 1 }]) {
      for (const source of [
        '{{ v }}',
        '{{ v | upcase }}',
        '{{ v | plus: 1 }}',
        '{% if v == v %}{% endif %}',
        '{{ v | json }}',
        '{{ 1 | plus: v }}',
      ]) {
        expect(() => tryRender(source, 'html', { v })).not.toThrow();
      }
    }
  });
});

describe('time and memory', () => {
  const text = 'x'.repeat(10_000);
  const list = Array.from({ length: 1000 }, (_, index) => index);
  it.each([
    '{% for i in (1..1000000000) %}x{% endfor %}',
    '{% for i in (1..99999999999999999999) %}x{% endfor %}',
    '{{ (1..1000000000) | join }}',
    '{% assign r = (1..1000000000) %}',
    '{% for i in (1..300) %}{% for j in (1..300) %}x{% endfor %}{% endfor %}',
    '{% for i in l %}{% for j in l %}{% for k in l %}{% endfor %}{% endfor %}{% endfor %}',
    '{% assign s = "xx" %}{% for i in (1..60) %}{% assign s = s | append: s %}{% endfor %}{{ s }}',
    '{% assign s = "xx" %}{% for i in (1..60) %}{% capture s %}{{ s }}{{ s }}{% endcapture %}{% endfor %}',
    '{% assign s = t %}{% for i in (1..10) %}{% assign s = s | replace: "x", "xxxxxxxxxx" %}{% endfor %}',
    '{% for i in (1..50000) %}{{ t | replace: "x", "y" | split: "" | join: "," | size }}{% endfor %}',
    '{% for i in (1..50000) %}{{ l | sort | reverse | uniq | map: "a" | size }}{% endfor %}',
    '{% for i in (1..50000) %}{{ t | strip_html | squish | truncatewords: 5000 | size }}{% endfor %}',
    '{% for i in (1..50000) %}{% if t contains "y" %}{% endif %}{% endfor %}',
    '{% for i in (1..50000) %}{% if l == m %}{% endif %}{% endfor %}',
    '{% assign a = l %}{% for i in (1..40) %}{% assign a = a | concat: a %}{% endfor %}',
    '{% for i in (1..50000) %}{{ t }}{% endfor %}',
    '{% for i in (1..50000) %}{{ l | json }}{% endfor %}',
    '{% for i in (1..50000) %}{{ t | url_encode | base64_encode | size }}{% endfor %}',
  ])('%s', (source) => {
    expect(() => tryRender(source, 'html', { t: text, l: list, m: [...list] })).toThrow(
      expect.objectContaining({ code: 'template_limit' }),
    );
  });

  /** Short templates, each of which would keep the server busy for minutes or exhaust its memory. */
  const long = 'a'.repeat(200_000);
  const nested = (name: string): string =>
    `{% assign none = "" | split: "" %}{% assign ${name} = none | push: 1 %}${`{% assign n = none %}${`{% assign n = n | push: ${name} %}`.repeat(4)}{% assign ${name} = n %}`.repeat(14)}`;
  const doubled = (name: string, times: number): string =>
    `{% assign d = ${name} %}${'{% assign d = d | concat: d %}'.repeat(times)}`;
  it.each([
    ['lists in lists, compared', `${nested('a')}${nested('b')}{% if a == b %}{% endif %}`],
    ['lists in lists, written', `${nested('a')}{{ a }}`],
    ['lists in lists, as JSON', `${nested('a')}{{ a | json }}`],
    [
      'lists in lists, found',
      `${nested('a')}${nested('b')}{% assign c = none | push: b %}{% if c contains a %}{% endif %}`,
    ],
    ['the same record, as JSON', `${doubled('records', 14)}{{ d | json | size }}`],
    ['the same list, joined', `${doubled('records', 14)}{{ d | map: "list" | join | size }}`],
    ['long texts, sorted', `${doubled('texts', 14)}{{ d | sort | size }}`],
    ['long texts, sorted in lower case', `${doubled('texts', 11)}{{ d | sort_natural | size }}`],
    ['long texts, deduplicated', `${doubled('texts', 15)}{{ d | uniq | size }}`],
    [
      'long texts, compared',
      '{% for i in (1..50000) %}{% if long == other %}{% endif %}{% endfor %}',
    ],
    [
      'long texts, in order',
      '{% for i in (1..50000) %}{% if long < other %}{% endif %}{% endfor %}',
    ],
    [
      'long texts, as numbers',
      '{% for i in (1..50000) %}{% if digits < 1 %}{% endif %}{% endfor %}',
    ],
    ['long texts, added', '{% for i in (1..50000) %}{{ 1 | plus: digits }}{% endfor %}'],
    [
      'long texts, trimmed',
      '{% for i in (1..50000) %}{% if blanks == blank %}{% endif %}{% endfor %}',
    ],
    ['long texts, in turn', '{% for i in (1..50000) %}{% cycle long: 1, 2 %}{% endfor %}'],
    [
      'long texts, in styles',
      '<p style="{% for i in (1..40000) %}color: {{ css }};{% endfor %}">x</p>',
    ],
    ['long paths', `${doubled('records', 12)}{{ d | map: path | size }}`],
    ['large records', '{% for i in (1..50000) %}{% if record.size == 1 %}{% endif %}{% endfor %}'],
    [
      'large records, empty',
      '{% for i in (1..50000) %}{% if record == empty %}{% endif %}{% endfor %}',
    ],
    ['a search that fails late', '{% if long contains needle %}{% endif %}'],
    ['a replacement that fails late', '{{ long | replace: needle, "" }}'],
    ['a separator that fails late', '{{ long | split: needle | size }}'],
    ['a removal that fails late', '{{ long | remove: needle }}'],
    [
      'long conditions',
      `{% for i in (1..50000) %}{% if ${'x or '.repeat(800)}x %}{% endif %}{% endfor %}`,
    ],
    [
      'many branches',
      `{% for i in (1..50000) %}{% if x %}${'{% elsif x %}'.repeat(4000)}{% endif %}{% endfor %}`,
    ],
    [
      'many cases',
      `{% for i in (1..50000) %}{% case 1 %}${'{% when 2 %}'.repeat(4000)}{% endcase %}{% endfor %}`,
    ],
    [
      'new formatters',
      '{% for i in (1..50000) %}{% assign c = i | modulo: 26 %}{{ i | money: currencies[i] }}{% endfor %}',
    ],
  ])('%s are charged', (_, source) => {
    const scope = {
      ...{ long, other: 'a'.repeat(200_000), digits: '1'.repeat(200_000) },
      ...{ blanks: ' '.repeat(200_000), css: `${long};`, path: 'a.'.repeat(100_000) },
      needle: `${'a'.repeat(20)}b${'a'.repeat(100_000)}`,
      records: [{ list: Array.from({ length: 2000 }, () => 1) }],
      texts: [`${long}b`, `${long}c`],
      record: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`k${i}`, i])),
      currencies: Array.from({ length: 17_576 }, (_, i) =>
        [i / 676, i / 26, i].map((n) => String.fromCharCode(65 + (Math.floor(n) % 26))).join(''),
      ),
    };
    expect(() => tryRender(source, 'html', scope)).toThrow(
      expect.objectContaining({ code: 'template_limit' }),
    );
  });

  it('indexes the lines of a source once for many reports', () => {
    const lines = '\n'.repeat(1_000_000);
    const { warnings, missing } = tryRender(
      `${lines}{% for i in (1..20000) %}<a href="{{ url }}">{{ gone }}</a>{% endfor %}`,
      'html',
      { url: 'javascript:x' },
    );
    expect(missing).toMatchObject([{ line: 1_000_001, column: 46 }]);
    expect(warnings[0]).toMatchObject({ line: 1_000_001, column: 35 });
  });

  it('counts across all fields and partials of a send', () => {
    const partial = parseContent(
      '{% for i in (1..2000) %}{{ i }}{% endfor %}',
      'html',
      'partials.p',
    );
    expect(() =>
      tryRender(
        '{% for i in (1..100) %}{% render "p" %}{% endfor %}',
        'html',
        {},
        { partials: () => partial },
      ),
    ).toThrow(/Loops run more than/);
  });

  it.each([
    ['many placeholders', '${a}'.repeat(20_000)],
    ['deep blocks', '{% if a %}'.repeat(5_000)],
    ['deep brackets', `{{ ${'a['.repeat(1_000)} }}`],
    ['a long expression', `{{ ${'a | upcase | '.repeat(2_000)} upcase }}`],
    ['a huge text', `{{ a }}${'x'.repeat(3_000_000)}`],
  ])('parsing stops at %s', (_, source) => {
    expect(() => parseContent(source, 'html', 'html')).toThrow(
      expect.objectContaining({ code: expect.stringMatching(/^template_(limit|syntax)$/) }),
    );
  });

  /** Each would take minutes if any step rescanned the rest of the text. */
  it.each([
    ['open comments', '<!--'.repeat(400_000)],
    ['closed comments', '<!---->'.repeat(250_000)],
    ['conditions', '<!--[if a]><style>-->'.repeat(90_000)],
    ['tags', '<a b="'.repeat(300_000)],
    ['bare tags', '<a b=c '.repeat(250_000)],
    ['end tags', '<style></sty'.repeat(150_000)],
    ['brackets', '<'.repeat(1_900_000)],
    ['dollars', '$'.repeat(1_900_000)],
    ['braces', '{ '.repeat(900_000)],
    ['quotes', '<p style="'.repeat(150_000)],
    ['URLs in styles', '<style>url(url('.repeat(120_000)],
  ])('parsing is linear in %s', (_, text) => {
    try {
      parseContent(`${text}{{ a | raw }}`, 'html', 'html');
    } catch (error) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^template_/) });
    }
  });

  it('limits the size of values', () => {
    let deep: unknown = 'x';
    for (let i = 0; i < 100_000; i++) deep = [deep];
    expect(tryRender('{{ d }}', 'html', { d: deep }).missing).toHaveLength(1);
    expect(() => tryRender('{{ d | json }}', 'html', { d: deep })).toThrow(
      expect.objectContaining({ code: 'template_limit' }),
    );
    expect(() =>
      tryRender('{% if d == d2 %}{% endif %}', 'html', { d: deep, d2: [deep] }),
    ).not.toThrow();
    const huge = 'x'.repeat(1_500_000);
    expect(renderComplete('{{ h }}', 'text', { h: huge })).toHaveLength(1_500_000);
    expect(() => renderComplete('{{ h }}{{ h }}', 'text', { h: huge })).toThrow(/longer than/);
  });

  it.each(['escape', 'escape_once', 'newline_to_br'])(
    'limits the html that %s returns',
    (filter) => {
      const bracketed = { x: '<\n'.repeat(500_000) };
      expect(() => tryRender(`{% assign y = x | ${filter} %}`, 'html', bracketed)).toThrow(
        /longer than/,
      );
      const source = `{% assign y = x | escape %}{% for i in (1..500) %}{% assign z = y | ${filter} %}{% endfor %}`;
      expect(() => tryRender(source, 'html', { x: 'x'.repeat(100_000) })).toThrow(/takes too long/);
    },
  );

  it('lists at most a hundred missing values', () => {
    const scope = { l: Array.from({ length: 5_000 }, () => ({})) };
    const { missing } = tryRender('{% for x in l %}{{ x.y }}{% endfor %}', 'text', scope);
    expect(missing).toHaveLength(100);
  });
});

describe('filter output', () => {
  it.each([
    ['NUL from base64', '{{ "AAAA" | base64_decode }}', '\uFFFD\uFFFD\uFFFD'],
    ['NUL from base64, unescaped', '{{ "AAAA" | base64_decode | raw }}', '\uFFFD\uFFFD\uFFFD'],
    ['NUL from a URL', '{{ "a%00b" | url_decode }}', 'a\uFFFDb'],
    ['half a character', '{{ "😀" | split: "" | first }}', '\uFFFD'],
    ['NUL after a valid character', '{{ "8J+YgAA=" | base64_decode }}', '😀\uFFFD'],
    [
      'half a character in a link',
      '<a title="{{ "😀" | split: "" | last }}">',
      '<a title="\uFFFD">',
    ],
    [
      'half a character that was captured',
      '{% capture c %}{{ "😀" | split: "" | first }}{% endcapture %}{{ c }}',
      '\uFFFD',
    ],
    [
      'halves that are joined again',
      '{% assign h = "😀" | split: "" %}{% for one in h %}{{ one }}{% endfor %}',
      '😀',
    ],
  ])('can be stored: %s', (_, source, expected) => {
    expect(renderComplete(source, 'text', {})).toBe(expected);
    expect(renderComplete(source, 'html', {})).toBe(expected);
  });
});

describe('two renders', () => {
  it('share no assigned names, counters, cycles or values', () => {
    const parsed =
      '{% increment n %}{% cycle "a", "b" %}{% if x %}old{% endif %}{% assign x = v %}{{ x }}';
    expect(renderComplete(parsed, 'text', { v: 1 })).toBe('0a1');
    expect(renderComplete(parsed, 'text', { v: 2 })).toBe('0a2');
  });

  it('do not modify their input values', () => {
    const scope = deepFreeze({ l: [3, 1, 2], o: { a: { b: 1 } } });
    renderComplete(
      '{{ l | sort | push: 4 | join }}{% assign o2 = o %}{% for p in o %}{{ p[0] }}{% endfor %}',
      'text',
      scope,
      {
        defaults: { 'o.a.c': 2 },
      },
    );
    expect(scope).toEqual({ l: [3, 1, 2], o: { a: { b: 1 } } });
  });
});

function deepFreeze<T extends object>(value: T): T {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
