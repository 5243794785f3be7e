import { describe, expect, it } from 'vitest';
import { renderComplete, tryRender } from './engine/try-render.ts';
import { type OutputFormat, parseContent } from './template-engine.ts';

/**
 * Goal: placeholders work as documented, in every output format and with every kind of value.
 * Method: tables of source, values and the exact result.
 */

describe('the documented examples', () => {
  it('fills ${variable_name} in a subject and {{ dotted.path }} in html', () => {
    expect(renderComplete('Welcome, ${variable_name}', 'header', { variable_name: 'Jane' })).toBe(
      'Welcome, Jane',
    );
    expect(renderComplete('<p>{{ dotted.path }}</p>', 'html', { dotted: { path: 'x' } })).toBe(
      '<p>x</p>',
    );
    expect(
      renderComplete('Hi {{ contact.first_name }}', 'html', contact({ first_name: 'Jane' })),
    ).toBe('Hi Jane');
  });

  it.each<OutputFormat>(['html', 'text', 'header'])(
    'supports both placeholder forms in %s',
    (place) => {
      const scope = { name: 'Jane', order: { id: 7 } };
      expect(renderComplete('${name} ${order.id} {{ name }} {{order.id}}', place, scope)).toBe(
        'Jane 7 Jane 7',
      );
    },
  );

  it('supports filters, if and for', () => {
    const greeting = 'Hi {{ contact.first_name | default: "there" }}';
    expect(renderComplete(greeting, 'text', contact({}))).toBe('Hi there');
    expect(renderComplete(greeting, 'text', contact({ first_name: 'Jane' }))).toBe('Hi Jane');
    expect(
      renderComplete('{% if paid %}paid{% else %}due{% endif %}', 'text', { paid: false }),
    ).toBe('due');
    expect(
      renderComplete('{% for l in lines %}{{ l.name }};{% endfor %}', 'text', {
        lines: [{ name: 'a' }, { name: 'b' }],
      }),
    ).toBe('a;b;');
  });

  it('escapes values in html unless raw is used', () => {
    expect(renderComplete('{{ v }}|${v}|{{ v | raw }}', 'html', { v: '<b>"&\'' })).toBe(
      '&lt;b&gt;&quot;&amp;&#39;|&lt;b&gt;&quot;&amp;&#39;|<b>"&\'',
    );
  });

  it('never escapes a subject, and replaces its line breaks with spaces', () => {
    expect(renderComplete('${v}', 'header', { v: 'A & <B>\r\nBcc: x@y.z\n\t\0' })).toBe(
      'A & <B> Bcc: x@y.z   ',
    );
    expect(renderComplete('plain\r\nsubject', 'header', {})).toBe('plain subject');
  });

  it('outputs \\${ and raw blocks literally', () => {
    expect(renderComplete('\\${name} ${name}', 'text', { name: 'x' })).toBe('${name} x');
    expect(renderComplete('{% raw %}${a} {{ b }} {% if %}{% endraw %}!', 'text', {})).toBe(
      '${a} {{ b }} {% if %}!',
    );
  });

  it('reports every missing path with field, line and column', () => {
    const { missing } = tryRender(
      'Hi ${first_name},\n  {{ order.id }} {{ x | upcase }}',
      'html',
      {},
    );
    expect(missing.map(({ path, field, line, column }) => [path, field, line, column])).toEqual([
      ['first_name', 'html', 1, 4],
      ['order.id', 'html', 2, 3],
      ['x', 'html', 2, 18],
    ]);
  });
});

describe('missing values', () => {
  it('suggests a similar name', () => {
    const given = { first_name: 'Jane', contact: {} };
    const details = ['{{ firstName }}', '{{ First_Name }}', '{{ age }}', '{{ contact.age }}'].map(
      (source) => tryRender(source, 'text', given).missing[0]?.detail,
    );
    expect(details).toEqual([
      '`firstName` has no value and no default. Did you mean `first_name`?',
      '`First_Name` has no value and no default. Did you mean `first_name`?',
      '`age` has no value and no default.',
      '`contact.age` has no value and no default.',
    ]);
  });

  it.each([
    ['absent', {}, 1],
    ['null', { v: null }, 1],
    ['an empty string', { v: '' }, 0],
    ['blanks', { v: '  ' }, 0],
    ['zero', { v: 0 }, 0],
    ['false', { v: false }, 0],
    ['an empty list', { v: [] }, 0],
  ])('%s', (_, scope, missing) => {
    for (const source of ['{{ v }}', '${v}']) {
      expect(tryRender(source, 'text', scope).missing).toHaveLength(missing);
    }
  });

  it('treats a blank contact field as missing, also when nested and in loops', () => {
    const scope = { contact: { first_name: ' ', address: { city: '' }, pets: [{ name: ' ' }] } };
    const source =
      '{{ contact.first_name }}{{ contact.address.city }}{% for p in contact.pets %}{{ p.name }}{% endfor %}{% assign a = contact.address %}{{ a.city }}';
    expect(tryRender(source, 'text', scope).missing.map(({ path }) => path)).toEqual([
      'contact.first_name',
      'contact.address.city',
      'contact.pets[0].name',
      'a.city',
    ]);
    expect(
      renderComplete('{% if contact.first_name %}a{% else %}b{% endif %}', 'text', scope),
    ).toBe('b');
  });

  it('makes a value optional with default or a condition', () => {
    for (const source of [
      '{{ v | default: "d" }}',
      '{{ v | upcase | default: "d" }}',
      '{{ v | default: w | default: "d" }}',
      '{% if v %}{{ v }}{% endif %}d',
      '{% unless v %}d{% endunless %}',
      '{% case v %}{% when 1 %}{% else %}d{% endcase %}',
      '{% if v == 1 or w contains "x" %}{% else %}d{% endif %}',
      '{% for x in v %}{{ x }}{% else %}d{% endfor %}',
      '{% assign x = v %}{% if x %}{{ x }}{% endif %}d',
      '{% assign x = v | default: "d" %}{{ x }}',
    ]) {
      expect(renderComplete(source, 'text', {}), source).toBe('d');
    }
  });

  it('is strict in arguments, required defaults and computed values', () => {
    const paths = (source: string, scope = {}) =>
      tryRender(source, 'text', scope).missing.map(({ path }) => path);
    expect(paths('{{ a | append: b }}')).toEqual(['a', 'b']);
    expect(paths('{{ a | append: b }}', { a: 'x' })).toEqual(['b']);
    expect(paths('{{ a | default: b }}')).toEqual(['b']);
    expect(paths('{{ a | default: b }}', { a: 'x' })).toEqual([]);
    expect(paths('{% assign t = price | times: 2 %}{{ t }}')[0]).toBe('price');
    expect(paths('{% assign x = order.id %}{{ x }}')).toEqual(['order.id']);
    expect(paths('{% for x in xs limit: n %}{{ x }}{% endfor %}', { xs: [1] })).toEqual(['n']);
    expect(paths('{{ a[k] }}', { a: {} })).toEqual(['k', 'a[null]']);
  });

  it('reports the index of the item that lacks a field', () => {
    const scope = { lines: [{ price: 1 }, {}, { price: null }] };
    const paths = (source: string) =>
      tryRender(source, 'text', scope).missing.map(({ path }) => path);
    const inner = '{{ line.price }}{% endfor %}';
    expect(paths(`{% for line in lines %}${inner}`)).toEqual(['lines[1].price', 'lines[2].price']);
    expect(paths(`{% for line in lines reversed %}${inner}`)).toEqual([
      'lines[2].price',
      'lines[1].price',
    ]);
    expect(paths(`{% for line in lines offset: 2 %}${inner}`)).toEqual(['lines[2].price']);
    expect(
      tryRender('{% for g in gs %}{% for l in g.ls %}{{ l.x }}{% endfor %}{% endfor %}', 'text', {
        gs: [{ ls: [{ x: 1 }] }, { ls: [{ x: 1 }, {}] }],
      }).missing[0]?.path,
    ).toBe('gs[1].ls[1].x');
  });

  it('applies declared defaults only to absent and null values', () => {
    const defaults = { 'order.currency': 'EUR', name: 'you', 'lines[].quantity': 1 };
    const source =
      '{{ name }} {{ order.currency }}{% for l in lines %} {{ l.quantity }}{% endfor %}';
    const values = { name: null, order: { id: 1 }, lines: [{ quantity: 3 }, {}] };
    expect(renderComplete(source, 'text', values, { defaults })).toBe('you EUR 3 1');
    expect(renderComplete('{{ name }}', 'text', { name: '' }, { defaults })).toBe('');
    expect(values).toEqual({ name: null, order: { id: 1 }, lines: [{ quantity: 3 }, {}] });
    expect(tryRender(source, 'text', {}, { defaults }).missing.map(({ path }) => path)).toEqual([
      'lines',
    ]);
  });

  it('rejects values without text, with their path', () => {
    const problemsOf = (source: string, scope: object) =>
      tryRender(source, 'text', { ...scope }).missing.map(({ path, code }) => `${path} ${code}`);
    expect(problemsOf('{{ order }}', { order: { id: 1 } })).toEqual(['order invalid_variable']);
    expect(problemsOf('{{ a.b | money: "EUR" }}', { a: { b: 'x' } })).toEqual([
      'a.b invalid_variable',
    ]);
    expect(problemsOf('{{ d | date: "long" }}', { d: 'soon' })).toEqual(['d invalid_variable']);
    expect(problemsOf('{% for x in n %}{% endfor %}', { n: 5 })).toEqual(['n invalid_variable']);
    expect(problemsOf('{{ 1 | divided_by: n }}', { n: 0 })).toEqual([' invalid_variable']);
  });
});

describe('Liquid', () => {
  it.each([
    ['{%- if a -%}  x  {%- endif -%}  y', 'xy'],
    ['a {{- s -}} b', 'asb'],
    ['{% comment %}{{ broken {% endcomment %}c', 'c'],
    ['{% # a remark %}c', 'c'],
    ['{% unless f %}n{% endunless %}', 'n'],
    ['{% if f %}1{% elsif n == 2 %}2{% else %}3{% endif %}', '2'],
    ['{% case n %}{% when 1, 2 %}12{% when 3 or 4 %}34{% else %}e{% endcase %}', '12'],
    ['{% assign x = n | plus: 3 %}{{ x }}', '5'],
    ['{% capture x %}<{{ s }}>{% endcapture %}{{ x }}{{ x }}', '<s><s>'],
    [
      '{% for i in (1..3) %}{{ forloop.index }}{% unless forloop.last %},{% endunless %}{% endfor %}',
      '1,2,3',
    ],
    [
      '{% for i in (1..9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}',
      '13',
    ],
    ['{% for p in o %}{{ p[0] }}={{ p[1] }};{% endfor %}', 'k=v;j=w;'],
    ['{% for x in l limit: 2 offset: 1 %}{{ x }}{% endfor %}', 'ba'],
    ['{% for i in (1..4) %}{% cycle "odd", "even" %} {% endfor %}', 'odd even odd even '],
    ['{% increment c %}{% increment c %}{% decrement d %}', '01-1'],
    ['{% echo s | upcase %}', 'S'],
    [
      '{{ l.size }}{{ l.first }}{{ l.last }}{{ l[1] }}{{ l[-1] }}{{ o["k"] }}{{ o.size }}',
      '3cabav2',
    ],
    ['{{ "a" }}{{ 1.5 }}{{ true }}', 'a1.5true'],
    [
      '{% if e == empty %}1{% endif %}{% if e == blank %}2{% endif %}{% if z == nil %}3{% endif %}',
      '123',
    ],
    ['{% if a and f or a %}1{% endif %}{% if not f %}2{% endif %}', '12'],
    ['{% if s contains "s" and l contains "b" %}1{% endif %}', '1'],
  ])('%s', (source, expected) => {
    const scope = {
      a: true,
      f: false,
      n: 2,
      s: 's',
      e: '',
      l: ['c', 'b', 'a'],
      o: { k: 'v', j: 'w' },
    };
    expect(renderComplete(source, 'text', scope)).toBe(expected);
  });

  it.each([
    ['{{ "aBc" | upcase }}{{ "aBc" | downcase }}{{ "aBc" | capitalize }}', 'ABCabcAbc'],
    [
      '{{ 7 | plus: 1 }} {{ 7 | minus: 1 }} {{ 7 | times: 2 }} {{ 7 | divided_by: 2 }} {{ 7 | modulo: 4 }}',
      '8 6 14 3.5 3',
    ],
    [
      '{{ 0.1 | plus: 0.2 }} {{ 1.005 | round: 2 }} {{ 2.5 | round }} {{ -1.5 | abs }} {{ 1.2 | ceil }}',
      '0.3 1.01 3 1.5 2',
    ],
    [
      '{{ l | join: ", " }} {{ l | first }}{{ l | last }}{{ l | size }} {{ l | sort | join }} {{ l | reverse | join: "" }}',
      'c, b, a ca3 a b c abc',
    ],
    ['{{ "a,b,,": | split: "," | size }}', undefined],
    ['{{ "a,b,," | split: "," | join: "+" }}', 'a+b'],
    [
      '{{ r | map: "n.m" | join }} {{ r | where: "k", 2 | map: "k" | join }} {{ r | sum: "k" }} {{ r | sort: "k" | map: "k" | join }}',
      '3 4 2 3 1 2',
    ],
    [
      '{{ "a b" | url_encode }} {{ "a+b%20" | url_decode }}|{{ "<&" | escape }}',
      'a+b a b |&lt;&amp;',
    ],
    [
      '{{ "abcdef" | truncate: 5 }} {{ "a b c" | truncatewords: 2 }} {{ " x " | strip }}|{{ "aXbX" | replace: "X", "$&" }}',
      'ab... a b... x|a$&b$&',
    ],
    ['{{ "a" | append: "b" | prepend: "c" | remove: "a" }} {{ "abc" | slice: 1, 2 }}', 'cb bc'],
    ['{{ r | json }}', '[{"k":2,"n":{"m":3}},{"k":1,"n":{"m":4}}]'],
    ['{{ "<i>" | json }}', '"\\u003ci\\u003e"'],
    [
      '{{ l | uniq | compact | concat: l | size }} {{ r | group_by: "k" | map: "name" | join }}',
      '6 2 1',
    ],
  ])('%s', (source, expected) => {
    const scope = {
      l: ['c', 'b', 'a'],
      r: [
        { k: 2, n: { m: 3 } },
        { k: 1, n: { m: 4 } },
      ],
    };
    if (expected === undefined) expect(() => renderComplete(source, 'text', scope)).toThrow();
    else expect(renderComplete(source, 'text', scope)).toBe(expected);
  });

  it('formats money, numbers and dates for the locale and time zone of the send', () => {
    const scope = { p: 1234.5, d: '2025-03-01T23:30:00Z' };
    const de = { locale: 'de-DE', timeZone: 'Europe/Berlin' };
    expect(renderComplete('{{ p | money: "EUR" }}', 'text', scope, de)).toBe('1.234,50\u00a0€');
    expect(renderComplete('{{ p | money: "USD" }}', 'text', scope, { locale: 'en-US' })).toBe(
      '$1,234.50',
    );
    expect(renderComplete('{{ p | number }} {{ p | number: 2 }}', 'text', scope, de)).toBe(
      '1.234,5 1.234,50',
    );
    expect(renderComplete('{{ 0.25 | percent }}', 'text', scope)).toBe('25%');
    expect(renderComplete('{{ d | date: "long" }}', 'text', scope, de)).toBe('2. März 2025');
    expect(renderComplete('{{ d | date: "%A, %-d. %B %Y %H:%M %z" }}', 'text', scope, de)).toBe(
      'Sonntag, 2. März 2025 00:30 +0100',
    );
    expect(renderComplete('{{ d | date: "%F", "Asia/Tokyo" }}', 'text', scope, de)).toBe(
      '2025-03-02',
    );
    expect(renderComplete('{{ "now" | date: "%F" }}', 'text', scope, { nowMs: 0 })).toBe(
      '1970-01-01',
    );
  });

  it('chooses plural forms by the language of the send', () => {
    const items = '{{ n | pluralize: "item", "items" }}';
    expect([0, 1, 2, '1'].map((n) => renderComplete(items, 'text', { n }))).toEqual([
      ...['items', 'item', 'items', 'item'],
    ]);
    expect(renderComplete(items, 'text', { n: 0 }, { locale: 'fr' })).toBe('item');
    const files = '{{ n | pluralize: one: "plik", few: "pliki", many: "plików", other: "pliku" }}';
    const polish = [1, 3, 5, 0.5].map((n) =>
      renderComplete(files, 'text', { n }, { locale: 'pl' }),
    );
    expect(polish).toEqual(['plik', 'pliki', 'plików', 'pliku']);
    expect(renderComplete(files, 'text', { n: 7 }, { locale: 'en' })).toBe('pliku');
    expect(tryRender('{{ 2 | pluralize: "item" }}', 'text', {}).missing).toMatchObject([
      { code: 'invalid_variable', detail: expect.stringContaining('two words') },
    ]);
  });

  it('rejects invalid date formats', () => {
    const { missing } = tryRender('{{ d | date: "DD.MM.YYYY" }}', 'text', { d: '2025-03-01' });
    expect(missing).toMatchObject([
      { code: 'invalid_variable', detail: expect.stringContaining('"%d.%m.%Y"') },
    ]);
  });

  it('shows a date without a zone as written in every time zone', () => {
    const options = { locale: 'en-US', timeZone: 'America/Los_Angeles' };
    expect(renderComplete('{{ "2025-03-01" | date: "long" }}', 'text', {}, options)).toBe(
      'March 1, 2025',
    );
    expect(renderComplete('{{ "2025-03-01 08:00" | date: "%H:%M" }}', 'text', {}, options)).toBe(
      '08:00',
    );
    expect(renderComplete('{{ 1740873600 | date: "%F %H" }}', 'text', {}, options)).toBe(
      '2025-03-01 16',
    );
  });
});

describe('partials and layouts', () => {
  const partials = new Map(
    Object.entries({
      footer: '<p>{{ company }} {{ contact.first_name }}{{ note | default: "" }}</p>',
      line: '<li>{{ line.name }}</li>',
      a: '{% render "b" %}',
      b: '{% render "a" %}',
    }).map(([key, source]) => [key, parseContent(source, 'html', `partials.${key}`)]),
  );
  const options = { partials: (key: string) => partials.get(key) };
  const scope = {
    company: 'A&B',
    lines: [{ name: '<1>' }, { name: '2' }],
    contact: { first_name: 'J' },
  };

  it('a partial sees the values of the send and its arguments, not the surrounding variables', () => {
    const source = '{% assign note = "x" %}{% render "footer" %}{% render "footer", note: "!" %}';
    expect(renderComplete(source, 'html', scope, options)).toBe(
      '<p>A&amp;B J</p><p>A&amp;B J!</p>',
    );
    expect(renderComplete('{% render "line" for lines as line %}', 'html', scope, options)).toBe(
      '<li>&lt;1&gt;</li><li>2</li>',
    );
    expect(
      renderComplete('{% render "line" with lines.last as line %}', 'html', scope, options),
    ).toBe('<li>2</li>');
  });

  it("reports values missing in a partial under the partial's field", () => {
    expect(
      tryRender('x{% render "footer" %}', 'html', { contact: {} }, options).missing,
    ).toMatchObject([
      { path: 'company', field: 'partials.footer', line: 1, column: 4 },
      { path: 'contact.first_name', field: 'partials.footer' },
    ]);
  });

  it('rejects cycles, unknown keys, and partials inside a tag', () => {
    expect(() => renderComplete('{% render "a" %}', 'html', {}, options)).toThrow(
      /cycle: a → b → a/,
    );
    expect(() => renderComplete('{% render "nope" %}', 'html', {}, options)).toThrow(
      /no partial `nope`/,
    );
    expect(() => parseContent('<a {% render "a" %}>', 'html', 'html')).toThrow(/inside a tag/);
    expect(() => parseContent('{% render file %}', 'html', 'html')).toThrow(/must be in quotes/);
  });
});

describe('parsed fields', () => {
  it('know whether they are static, their roots and their partials', () => {
    expect(parseContent('plain', 'html', 'html')).toMatchObject({ isStatic: true });
    expect(parseContent('\\${x}', 'html', 'html').isStatic).toBe(true);
    const parsed = parseContent(
      '{% for l in order.lines %}{{ l.x }}{{ forloop.index }}{% endfor %}{% assign y = z %}{{ y }}${contact.email}{% render "p", q: w %}',
      'html',
      'html',
    );
    expect(parsed.isStatic).toBe(false);
    expect([...parsed.roots].sort()).toEqual(['contact', 'order', 'w', 'z']);
    expect([...parsed.partialKeys]).toEqual(['p']);
  });
});

function contact(fields: object): { contact: object } {
  return { contact: { email: 'jane@example.com', ...fields } };
}
