import { describe, expect, it } from 'vitest';
import { parseContent } from '../template-engine.ts';
import { type CheckOptions, checkContent } from './check-content.ts';

/**
 * Goal: each check finds its issue at the right position and accepts good email. Method: one page that
 * passes every check, and changes to it that each break one.
 */

const GOOD = `<!DOCTYPE html>
<html><head><title>{{ subject_line }}</title><style>p { color: #333 } @media (max-width: 600px) { p { width: 100% } }</style></head>
<body>
<div style="display:none">Your order is on its way</div>
<!--[if mso]><table><tr><td><![endif]-->
<p>Hi {{ contact.first_name | default: "there" }}<br>
<a href="https://shop.example/o/{{ order.id }}">Order</a> <a href="{{ link }}">x</a> <a href="#top">y</a> <a href="mailto:a@b.example">z</a>
<img src="https://shop.example/a.png" alt=""><img src="cid:logo" alt="Logo"><img src="{{ image }}" alt="{{ name }}">
{% for l in lines %}<span>{{ l.name }}</span>{% endfor %}
</body></html>`;

describe('a page', () => {
  it('reports nothing for a good page', () => {
    expect(checkContent({ subject: 'Hi ${name}', html: GOOD, text: 'Hi' })).toEqual([]);
    expect(checkContent({ subject: 'Hi ${name}', html: GOOD })).toEqual([]);
  });

  it.each<[string, string, string]>([
    ['text_missing', 'warning', '<img src="https://a.example/b.png" alt="">'],
    ['template_syntax', 'error', GOOD.replace('{% endfor %}', '')],
    ['template_limit', 'error', '{% if a %}'.repeat(100)],
    ['unclosed_tag', 'error', '<div><b>x</div>'],
    ['unclosed_tag', 'error', '<table><tr><td>x'],
    ['unclosed_tag', 'error', '<p>x</p></div>'],
    ['unclosed_tag', 'error', '<p>x <a href="https://a.example'],
    ['unclosed_tag', 'error', '<p>x</p><!-- '],
    ['unclosed_tag', 'warning', '{% if a %}<div>{% else %}<div class="b">{% endif %}</div>'],
    ['image_without_alt', 'warning', '<img src="https://a.example/b.png">'],
    ['image_not_https', 'warning', '<img src="http://a.example/b.png" alt="">'],
    ['image_not_https', 'warning', '<img src="b.png" alt="">'],
    ['image_not_https', 'warning', '<img alt="">'],
    ['link_not_absolute', 'warning', '<a href="/orders">x</a>'],
    ['link_not_absolute', 'warning', '<a href="orders/{{ id }}">x</a>'],
    ['link_not_absolute', 'warning', '<a href="#">x</a>'],
    ['link_not_absolute', 'warning', '<a href="">x</a>'],
    ['too_large', 'warning', `<p>${'x'.repeat(103 * 1024)}</p>`],
    ['preheader_missing', 'warning', '<html><body><p>Hi</p></body></html>'],
    ['unsupported_css', 'warning', '<div style="display: flex">x</div>'],
    ['unsupported_css', 'warning', '<style>.a { color: red; position:absolute }</style>'],
    ['unsupported_css', 'warning', '<style>@import url(x.css);</style>'],
    ['unsupported_css', 'warning', '<link rel="stylesheet" href="https://a.example/x.css">'],
    ['script', 'warning', '<script>x</script>'],
    ['unsupported_element', 'warning', '<form></form>'],
  ])('%s (%s)', (code, severity, html) => {
    const found = checkContent({ subject: 'x', html }).find((finding) => finding.code === code);
    expect(found).toMatchObject({ code, severity, field: 'html' });
    expect(found?.message).toMatch(/\.$/);
  });

  it('reports line and column', () => {
    const html = 'a\n <img src="https://a.example/b.png">\n<p style="x:y;\n gap: 1px">';
    expect(checkContent({ html, text: 'x' }, { fragment: true })).toMatchObject([
      { code: 'image_without_alt', line: 2, column: 2 },
      { code: 'unsupported_css', line: 4, column: 2 },
    ]);
  });

  it('accepts Outlook conditionals, void elements and SVG', () => {
    const html =
      '<!--[if mso]><table><![endif]--><br><hr><img src="cid:a" alt=""><p>a<p>b<ul><li>c<li>d</ul><svg><path d="x"/></svg><o:p/>';
    expect(codes(html)).toEqual([]);
  });

  it('reports syntax errors in all fields', () => {
    const found = checkContent({
      subject: '${',
      html: '{{ x | nope }}',
      text: '{% if %}{% endif %}',
    });
    expect(found.map(({ field, code }) => `${field} ${code}`)).toEqual([
      'subject template_syntax',
      'html template_syntax',
      'text template_syntax',
    ]);
  });
});

describe('paths', () => {
  const options: CheckOptions = {
    declared: ['order', 'lines[].name', 'link'],
    contactFields: ['email', 'first_name'],
    fragment: true,
  };
  it.each([
    ['{{ order.id }}{{ link }}{% for l in lines %}{{ l.name }}{% endfor %}', []],
    ['{{ contact.first_name }}{{ message.id }}', []],
    ['{{ ordr.id }}', ['warning `ordr.id` is not a declared variable']],
    ['{{ lnik }}', ['warning `lnik` is not a declared variable. Did you mean `link`?']],
    ['{% for l in lines %}{{ l.price }}{% endfor %}', ['warning `lines[].price`']],
    ['{{ message.subject }}', ['error `message` has no field `subject`']],
    ['{{ contact.birthday }}', ['warning No contact has the field `birthday` yet.']],
  ])('%s', (html, expected) => {
    const found = checkContent({ html, text: 'x' }, options);
    expect(found).toHaveLength(expected.length);
    for (const [index, finding] of found.entries()) {
      expect(`${finding.severity} ${finding.message}`).toContain(expected[index]);
      expect(finding.code).toBe('unknown_path');
    }
  });
});

/** Each would take minutes if any check rescanned the rest of the text for every tag. */
describe('hostile html is checked in linear time', () => {
  it.each([
    ['open tags', '<div>'.repeat(300_000)],
    ['end tags', '</div>'.repeat(300_000)],
    ['incomplete tags', '<a href="'.repeat(200_000)],
    ['raw texts', '<title>'.repeat(250_000)],
    ['comments', '<!--'.repeat(400_000)],
    ['attributes', `<p ${'a=b '.repeat(400_000)}>`],
    ['css words', `<style>${'a'.repeat(1_800_000)}</style>`],
    ['css pieces', `<style>${'a:b;'.repeat(400_000)}</style>`],
    ['images', '<img>'.repeat(300_000)],
    ['new lines', '\n<img>'.repeat(250_000)],
    ['findings after many lines', `${'\n'.repeat(1_900_000)}${'<img>'.repeat(300)}`],
    [
      'unknown paths after many lines',
      `${'\n'.repeat(1_900_000)}${Array.from({ length: 4_000 }, (_, i) => `{{ message.x${i} }}`).join('')}`,
    ],
  ])('%s', (_, html) => {
    expect(checkContent({ html }).length).toBeLessThanOrEqual(200);
  });
});

it('partials that multiply exponentially are rejected', () => {
  const partials = new Map(
    Array.from({ length: 7 }, (_, i) => [
      `p${i}`,
      parseContent(`{% render "p${i + 1}" %}`.repeat(i < 6 ? 20 : 0), 'html', 'html'),
    ]),
  );
  const found = checkContent(
    { html: '{% render "p0" %}', text: 'x' },
    { partials: (key) => partials.get(key), fragment: true },
  );
  expect(found).toMatchObject([{ severity: 'error', code: 'template_limit' }]);
});

function codes(html: string): string[] {
  return checkContent({ html, text: 'x' }, { fragment: true }).map(({ code }) => code);
}
