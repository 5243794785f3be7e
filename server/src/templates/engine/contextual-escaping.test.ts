import fc from 'fast-check';
import { Parser } from 'htmlparser2';
import PostalMime from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { compose } from '../../mail/mime/compose.ts';
import { parseContent } from '../template-engine.ts';
import { renderComplete, tryRender } from './try-render.ts';

/**
 * Goal: no value can break out of its context. Method: render a page with a harmless and a hostile
 * value, parse both with an HTML parser and compare the structure (elements, attribute names and
 * comments, not text or attribute values), and likewise the headers of a composed message. Values are
 * random combinations of typical attack fragments, and arbitrary text.
 */

const PIECES = [
  ...['<', '>', '"', "'", '`', '=', '/', ' ', '\n', '\t', '\0', '&', ';', '-', '--', '!', '\\'],
  ...['-->', '--!>', '<!--', '<![endif]-->', ']]>', '</style>', '</script>', '</title>', '</a>'],
  ...[
    '<script>alert(1)</script>',
    '<img src=x onerror=y>',
    ' onclick=',
    '" x="',
    "' x='",
    '&quot;',
  ],
  ...['javascript:', 'java', 'script:', 'data:text/html,', 'vbscript:', '&#106;', '{', '}', '*/'],
  ...['{{ x }}', '${x}', '{% raw %}', 'url(', ')', 'expression(', '@import', '\u202e', 'é', '😀'],
  ...['\u2028', '\ud800', '0', 'a', 'A', '?', '#', ',', ':'],
];
const hostile = fc.oneof(
  fc.array(fc.constantFrom(...PIECES), { maxLength: 8 }).map((pieces) => pieces.join('')),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

/** Characters that PostgreSQL cannot store become the replacement character. */
function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}

const PAGES = [
  '<p>{{ v }}</p>',
  '<p>a${v}b</p><b>{{ v }}</b>',
  '<p title="{{ v }}" lang=\'{{ v }}\'>x</p>',
  '<p title={{ v }}>x</p>',
  '<p title={{ v }} class=a>x</p>',
  '<p title=a{{ v }} class=b>x</p>',
  '<a href="{{ v }}">x</a>',
  '<a href="https://a.example/?q={{ v }}&r={{ v }}">x</a>',
  '<a href={{ v }}>x</a>',
  '<img src="{{ v }}" srcset="{{ v }} 2x, b.png" alt="{{ v }}">',
  '<title>{{ v }}</title><p>x</p>',
  '<textarea>{{ v }}</textarea><p>x</p>',
  '<style>p { color: {{ v }}; } a::after { content: "{{ v }}" }</style><p>x</p>',
  '<style>p { background: url({{ v }}) } q { background: url("{{ v }}") }</style><p>x</p>',
  '<p style="color: {{ v }}; background: url(\'{{ v }}\')">x</p>',
  '<p style=\'font-family: "{{ v }}", serif\'>x</p>',
  '<p style={{ v }}>x</p>',
  '<!--{{ v }}--><p>x</p>',
  '<!-- a {{ v }} b --><p>x</p>',
  '<!-- --{{ v }}> --><p>x</p>',
  '<!--[if mso]><table><tr><td title="{{ v }}">{{ v }}<![endif]--><p>x</p>',
  '<!--[if mso]><p>a{{ v }}> b</p><![endif]--><p>x</p>',
  '<!--[if !mso]><!--><p title="{{ v }}">{{ v }}</p><!--<![endif]-->',
  '<script type="application/ld+json">{"a": "{{ v }}", "b": {{ v }}}</script><p>x</p>',
  '<p {% if v %}title="{{ v }}"{% endif %}>{% for i in (1..2) %}<i title="{{ v }}">{{ v }}</i>{% endfor %}</p>',
  '{% capture c %}<b>{{ v }}</b>{% endcapture %}<p title="{{ c }}">{{ c }}{{ c | strip }}</p>',
  '<p>{{ v | newline_to_br | strip }}{{ v | escape }}{{ v | upcase }}{{ v | json }}</p>',
  '<svg><a xlink:href="{{ v }}"></a></svg><p>x</p>',
  '<meta http-equiv="refresh" content="0;url={{ v }}"><p>x</p>',
];

describe('a value', () => {
  it.each(PAGES)('stays in its context: %s', (page) => {
    const parsed = page.includes('newline_to_br') ? withoutBreaks : structure;
    const expected = parsed(renderComplete(page, 'html', { v: 'harmless' }));
    fc.assert(
      fc.property(hostile, (v) => {
        expect(parsed(renderComplete(page, 'html', { v }))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is parsed back unchanged from text and attributes', () => {
    fc.assert(
      fc.property(hostile, (v) => {
        const { texts, attributes } = read(
          renderComplete('<p title="{{ v }}" lang=${v}>${v}</p>', 'html', { v }),
        );
        const readable = storable(v);
        expect(texts.join('')).toBe(readable);
        expect(attributes.map(([, value]) => value)).toEqual([readable, readable]);
      }),
    );
  });

  it('cannot turn a URL into a script, alone or combined', () => {
    const pages = [
      '<a href="{{ v }}">',
      '<a href={{ v }}>',
      '<a href="  {{ v }}">',
      '<a href="java{{ v }}">',
      '<a href="{{ v }}:alert(1)">',
      '<a href="{{ v }}{{ w }}">',
      '<a href="&#106;ava{{ v }}">',
      '<a href="{% if v %}{{ v }}{% endif %}{{ w }}">',
      '<img src="{{ v }}">',
      '<iframe src="{{ v }}">',
      '<form action="{{ v }}">',
      '<td background="{{ v }}">',
      '<svg><animate to="{{ v }}">',
    ];
    const schemes = fc.constantFrom(
      'javascript',
      'JaVaScRiPt',
      'vbscript',
      'data',
      'script',
      'java\tscript',
      '\u0001javascript',
      ' javascript',
      '\u2028javascript',
      `${' '.repeat(600)}javascript`,
    );
    const value = fc.oneof(
      fc
        .tuple(schemes, fc.constantFrom(':', ' :', ':alert(1)', '&colon;', '\n:', ''))
        .map(([a, b]) => a + b),
      hostile,
    );
    fc.assert(
      fc.property(fc.constantFrom(...pages), value, value, (page, v, w) => {
        const { attributes } = read(tryRender(page, 'html', { v, w }).text);
        for (const [, address] of attributes) {
          const bare = address.replace(/[\p{Cc}\p{Z}]/gu, '').toLowerCase();
          expect(bare).not.toMatch(/^(javascript|vbscript|data):/);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['https://a.example/b?c=d&e=f%20g#h', 'https://a.example/b?c=d&amp;e=f%20g#h'],
    ['mailto:a@b.example?subject=x', 'mailto:a@b.example?subject=x'],
    ['myapp://open/1', 'myapp://open/1'],
    ['/relative', '/relative'],
    ['tel:+431', 'tel:+431'],
    ['javascript:alert(1)', '#'],
    ['data:text/html,x', '#'],
    ['data:image/png;base64,AA', '#'],
  ])('keeps the URL %s unchanged', (v, expected) => {
    expect(tryRender('<a href="{{ v }}">', 'html', { v }).text).toBe(`<a href="${expected}">`);
  });

  it('is encoded as a single URL parameter', () => {
    const page =
      '<a href="https://a.example/p?q={{ v }}&amp;r={{ v | url_encode }}#{{ w }}">x</a><img src=\'{{ w }}&s={{ v }}\'>';
    fc.assert(
      fc.property(
        hostile.filter((v) => !/%[\da-f]{2}/i.test(v)),
        (v) => {
          const { attributes } = read(renderComplete(page, 'html', { v, w: 'w' }));
          const { searchParams } = new URL(attributes[0]?.[1] ?? '');
          expect([...searchParams]).toEqual([
            ['q', v.toWellFormed()],
            ['r', v.toWellFormed()],
          ]);
          expect(new URLSearchParams(attributes[1]?.[1].slice(2)).get('s')).toBe(v.toWellFormed());
        },
      ),
    );
  });

  it.each([
    ['?q={{ v }}', 'a%2Bb', '?q=a%2Bb'],
    ['?q={{ v }}', '100%', '?q=100%25'],
    ['?q={{ v }}', 'a+b/c=', '?q=a%2Bb%2Fc%3D'],
    ['?{{ v }}', 'a=1&b=2', '?a=1&amp;b=2'],
    ['{{ v }}', '/a?b=c d', '/a?b=c d'],
    ['/p/{{ v }}/q', 'a/b', '/p/a/b/q'],
    ['#x={{ v }}', 'a&b', '#x=a&amp;b'],
    ['?q={{ v | raw }}', 'a&b=c', '?q=a&b=c'],
    ['{% if v %}?q={% else %}/{% endif %}{{ v }}', 'a b', '?q=a b'],
    [
      'mailto:x@y.example?subject={{ v }}',
      'Hello & bye',
      'mailto:x@y.example?subject=Hello%20%26%20bye',
    ],
  ])('in the URL %s becomes %s', (address, v, expected) => {
    expect(renderComplete(`<a href="${address}">`, 'html', { v })).toBe(`<a href="${expected}">`);
  });

  it('may be an image data URL in an image, and warns when it is neutralized', () => {
    const v = 'data:image/png;base64,AA';
    expect(renderComplete('<img src="{{ v }}">', 'html', { v })).toBe(`<img src="${v}">`);
    const { text, warnings } = tryRender('<a\nhref="{{ v }}">', 'html', { v: 'javascript:x' });
    expect(text).toBe('<a\nhref="#">');
    expect(warnings).toMatchObject([{ code: 'unsafe_url', field: 'html', line: 2, column: 7 }]);
  });

  it('is a single line in a header', () => {
    fc.assert(
      fc.property(hostile, (v) => {
        const text = renderComplete('a ${v} {{ v }}', 'header', { v });
        // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not appear.
        expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/);
        expect(text.isWellFormed()).toBe(true);
      }),
    );
  });

  it('cannot add or remove message headers', async () => {
    const headersWith = async (v: string): Promise<string[]> => {
      const line = (text: string) => renderComplete(text, 'header', { v });
      const mailbox = {
        local: 'a',
        domain: 'a.example',
        email: 'a@a.example',
        key: '',
        utf8: false,
      };
      const raw = compose({
        ...{ messageId: 'a@a.example', dateMs: 0, html: '<p>x</p>', text: 'x', attachments: [] },
        from: { ...mailbox, name: line('${v}') },
        to: [mailbox],
        cc: [],
        replyTo: [{ ...mailbox, name: line('Help {{ v }}') }],
        subject: line('{{ v }} and ${v}'),
        headers: [['X-Value', line('${v}')]],
      });
      const { headers, from, to, replyTo } = await PostalMime.parse(raw);
      const addresses = [from, ...(to ?? []), ...(replyTo ?? [])].map((one) => one?.address ?? '');
      return [...headers.map(({ key }) => key), ...addresses];
    };
    const expected = await headersWith('harmless');
    await fc.assert(
      fc.asyncProperty(hostile, async (v) => {
        expect(await headersWith(`${v}\r\nBcc: x@y.example`)).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('is unchanged in plain text', () => {
    fc.assert(
      fc.property(hostile, (v) => {
        const kept = storable(v);
        expect(renderComplete('${v}|{{ v }}|{{ v | raw }}', 'text', { v })).toBe(
          `${kept}|${kept}|${kept}`,
        );
      }),
    );
  });
});

describe('a placeholder is rejected', () => {
  it.each([
    ['in a tag name', '<{{ v }}>'],
    ['in a tag name', '<h{{ v }}>'],
    ['in an end tag name', '</{{ v }}>'],
    ['for an attribute', '<p {{ v }}>'],
    ['in an attribute name', '<p da{{ v }}="x">'],
    ['after an attribute', '<p title="x"{{ v }}>'],
    ['in a script', '<script>var x = "{{ v }}"</script>'],
    ['in a script with a type', '<script type="text/javascript">{{ v }}</script>'],
    ['in an event handler', '<p onclick="x({{ v }})">'],
    ['in an unquoted style', '<p style=a{{ v }}>'],
    ['in srcdoc', '<iframe srcdoc="{{ v }}">'],
    ['in a frame', '<iframe>{{ v }}</iframe>'],
    ['in a declaration', '<!DOCTYPE {{ v }}>'],
    ['in a processing instruction', '<?xml {{ v }}?>'],
    ['in an incomplete comment', '<!-{{ v }}->'],
    ['in an incomplete end tag', '<style></sty{{ v }}le>'],
    ['after a backslash in a style', '<style>a{content:"\\{{ v }}"}</style>'],
    ['after a dash in a comment', '<!-- -{% if v %}-> {% endif %} -->'],
    ['after a dash in a conditional comment', '<!--[if mso]><p>-{{ v }}-> --><![endif]-->'],
    ['when branches end in different contexts', '<a href="{% if v %}x"{% endif %}>{{ v }}'],
    ['when a loop leaves an attribute open', '{% for i in v %}<a title="{% endfor %}'],
    ['when break leaves an attribute open', '{% for i in v %}<a title="{% break %}">{% endfor %}'],
    ['when captured text ends inside a tag', '{% capture c %}<a {% endcapture %}'],
    ['when an attribute name is split', '<p {% if v %}on{% endif %}click="x">'],
  ])('%s: %s', (_, page) => {
    expect(() => parseContent(page, 'html', 'html')).toThrow(
      expect.objectContaining({ code: 'template_syntax' }),
    );
  });

  it('unless raw overrides it', () => {
    expect(renderComplete('<p {{ v | raw }}>', 'html', { v: 'class="a"' })).toBe('<p class="a">');
  });
});

/** Elements, attribute names and comments, in order. */
function structure(html: string): string[] {
  return read(html).structure;
}

/** `newline_to_br` adds elements on purpose. */
function withoutBreaks(html: string): string[] {
  return structure(html).filter((item) => !item.includes('br'));
}

function read(html: string): {
  structure: string[];
  texts: string[];
  attributes: [string, string][];
} {
  const found = {
    structure: [] as string[],
    texts: [] as string[],
    attributes: [] as [string, string][],
  };
  const parser = new Parser({
    onopentag(name, attributes) {
      found.structure.push(`<${name} ${Object.keys(attributes).join(' ')}>`);
      found.attributes.push(...Object.entries(attributes));
    },
    onclosetag: (name) => void found.structure.push(`</${name}>`),
    oncomment: () => void found.structure.push('<!-- -->'),
    oncdatastart: () => void found.structure.push('<![CDATA['),
    onprocessinginstruction: (name) => void found.structure.push(`<${name}>`),
    ontext: (text) => void found.texts.push(text),
  });
  parser.end(html);
  return found;
}
