// Goal: the text part reads like the email, shows nothing hidden, and is safe for any markup.
// Method: examples of typical email markup, and properties over arbitrary and hostile markup.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { htmlToText, textPartOf } from './html-to-text.ts';

describe('the text part of an email', () => {
  it.each([
    ['is the text that was given, even an empty one', '<p>x</p>', '', ''],
    ['is generated from the HTML', '<p>Hello</p>', null, 'Hello'],
    ['of pictures is their alternative text', '<img src="a.png" alt="20% off">', null, '20% off'],
    ['of pictures without a description is the subject', '<img src="a.png">', null, 'Sale'],
    ['is empty where there is no HTML either', '', null, ''],
  ])('%s', (_, html, text, expected) => {
    expect(textPartOf({ subject: 'Sale', html, text })).toBe(expected);
  });
});

describe('html to text', () => {
  it.each([
    ['paragraphs', '<p>One</p><p>Two</p>', 'One\n\nTwo'],
    ['headings', '<h1>Title</h1>Body<h2>Next</h2>', 'Title\n\nBody\n\nNext'],
    [
      'lines',
      '<div>One</div><div>Two</div>Three<br>Four<br><br>Five',
      'One\nTwo\nThree\nFour\n\nFive',
    ],
    ['blanks', ' <p> a \n\t b&nbsp; c </p> \n', 'a b c'],
    ['inline markup', '<p>a<b>b</b> <i>c</i>d <span> e</span></p>', 'ab cd e'],
    ['lists', '<ul><li>One</li><li>Two<br>more</li></ul>', '- One\n- Two\n  more'],
    ['numbered lists', '<ol><li>One<li><p>Two</p></ol>After', '1. One\n\n2. Two\n\nAfter'],
    ['nested lists', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>', '- a\n  - b\n- c'],
    [
      'rows',
      '<table><tr><th>Plan</th><th>Price</th></tr><tr><td>A</td><td>9</td></tr></table>',
      'Plan  Price\nA  9',
    ],
    ['quotes', 'He said:<blockquote>Yes<br>No</blockquote>', 'He said:\n\n> Yes\n> No'],
    ['preformatted text', '<pre>a  b\n  c</pre>', 'a  b\n  c'],
    ['rules', 'a<hr>b', 'a\n\n-----\n\nb'],
    ['pictures', '<img src="x" alt="Acme &amp; Co"><img src="pixel.gif"><img alt="">', 'Acme & Co'],
  ])('keeps %s apart', (_, html, text) => {
    expect(htmlToText(html)).toBe(text);
  });

  it.each([
    [
      '<a href="https://example.com/?a=1&amp;b=2">Confirm</a> now',
      'Confirm (https://example.com/?a=1&b=2) now',
    ],
    ['<a href="https://example.com/">example.com</a>', 'example.com'],
    ['<a href="https://example.com">https://example.com</a>', 'https://example.com'],
    ['<a href="mailto:a@example.com">a@example.com</a>', 'a@example.com'],
    ['<a href="mailto:a@example.com">Write</a>', 'Write (a@example.com)'],
    ['<a href="https://example.com"><img src="b.png" alt="Go"></a>', 'Go (https://example.com)'],
    ['<a href="https://example.com"><img src="b.png"></a>', 'https://example.com'],
    ['<a href=" https://example.com/a b\n/c ">Go</a>', 'Go (https://example.com/a%20b/c)'],
    ['<a href="#top">Up</a> <a href="/x">X</a> <a>Y</a>', 'Up X Y'],
    ['<a href="javascript:alert(1)">No</a>', 'No'],
    [
      '<a href="https://example.com/a">A<a href="https://example.com/b">B',
      'A (https://example.com/a)B (https://example.com/b)',
    ],
  ])('writes the link %s as %s', (html, text) => {
    expect(htmlToText(html)).toBe(text);
  });

  it.each([
    '<div style="display:none">no</div>',
    '<div style="color:red; DISPLAY : None !important">no<div>no</div>no</div>',
    "<span style='display:none;max-height:0'>no</span>",
    '<p hidden>no</p>',
    '<td style="visibility:hidden">no</td>',
    '<div style="max-height:0px;overflow:hidden">no</div>',
    '<div style="opacity:0">no</div>',
    '<head><title>no</title><style>no{}</style></head>',
    '<script>if (a < b) "</p>no"</script>',
    '<style>p > a { no }</style>',
    '<!-- no --><!DOCTYPE no><?xml no?>',
    '<!--[if mso]><p>no</p><![endif]-->',
    '<p style="display:none">no<p>',
    '<img alt="no" style="display:none">',
  ])('leaves out %s', (html) => {
    expect(htmlToText(`<p>before</p>${html}<p>after</p>`)).toBe('before\n\nafter');
  });

  it.each([
    '<div style="overflow:hidden">yes</div>',
    '<div style="opacity:0.9">yes</div>',
    '<div style="max-height:0.5em">yes</div>',
    '<div class="hidden none">yes</div>',
    '<div data-style="display:none" title="hidden">yes</div>',
    '<div style="font-size:0"><span style="font-size:14px">yes</span></div>',
  ])('keeps %s', (html) => {
    expect(htmlToText(html)).toBe('yes');
  });

  it.each([
    ['&lt;b&gt; &amp;amp; &quot;&#39;', '<b> &amp; "\''],
    ['&euro;&uuml;&Uuml;&szlig;&hellip;&rsquo;', '€üÜß…’'],
    ['&#8364;&#x20AC;&#X20ac;&#150;', '€€€–'],
    ['&#0;&#xD800;&#x110000;', '\ufffd\ufffd\ufffd'],
    ['&unknown; &amp &; &#; R&D', '&unknown; &amp &; &#; R&D'],
    ['a &lt;b> 1 < 2 <3 </', 'a <b> 1 < 2 <3 </'],
    ['a </ a comment in browsers> b', 'a b'],
    ['soft&shy;hyphen zero&#8203;width', 'softhyphen zerowidth'],
    ['<p title="a > b">c</p><p title=it\'s>d</p>', 'c\n\nd'],
  ])('reads %s as %s', (html, text) => {
    expect(htmlToText(html)).toBe(text);
  });

  it('only removes markup from ordinary words', () => {
    const word = fc.stringMatching(/^[a-zA-Z0-9äöü]{1,8}$/);
    const tag = fc.constantFrom(
      '<p>',
      '</p>',
      '<div>',
      '<b>',
      '</b>',
      '<br>',
      '<td>',
      '</tr>',
      ' ',
      '\n',
      '<li>',
      '</ul>',
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(word, tag)), (pairs) => {
        const text = htmlToText(pairs.map(([given, markup]) => given + markup).join(''));
        const letters = text.replace(/[\s-]/g, '');
        expect(letters).toBe(pairs.map(([given]) => given).join(''));
      }),
    );
  });

  it('never throws for any markup', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '<',
        '>',
        '</',
        '"',
        "'",
        '=',
        '<!--',
        '-->',
        '&',
        '&#x',
        ';',
        '<a href=',
        ' style="display:none"',
      ),
      fc.constantFrom(
        '<ul>',
        '<li>',
        '</ol>',
        '<pre>',
        '</pre>',
        '<blockquote>',
        '</blockquote>',
        '<script>',
        '<p hidden',
      ),
      fc.string({ unit: 'binary', maxLength: 6 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const html = pieces.join('');
        expect(htmlToText(html)).toBeTypeOf('string');
      }),
      { numRuns: 3000 },
    );
  });

  it('grows no faster than the html', () => {
    const hostile = [
      '<ul><li>x',
      '<blockquote>x',
      '<a href="http://x.y">',
      '<td>x',
      '<p>x',
      '<',
      '<a "',
      '<!--',
      '&nbsp;',
    ];
    for (const piece of hostile) {
      const html = piece.repeat(20_000);
      expect(htmlToText(html).length).toBeLessThan(html.length * 4);
    }
  });
});
