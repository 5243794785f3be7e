import { describe, expect, it } from 'vitest';
import { placeholderSpans } from '../engine/lexer.ts';
import { renderComplete } from '../engine/try-render.ts';
import { inlineCss } from './inline-css.ts';

/**
 * Goal: rules are inlined and nothing else in the author's text changes. Method: small pages with
 * placeholders in every position; removing the style attributes restores the original.
 */

function inlined(html: string): string {
  return inlineCss([html]).segments.join('');
}

describe('inlining', () => {
  it('inlines rules and keeps the style sheet with its @media', () => {
    const html =
      '<style>p { color: red } @media (max-width: 1px) { p { color: blue } } a:hover { x: y }</style><p>a</p>';
    const segments = [html.replace('<p>', '<p style="color: red;">')];
    expect(inlineCss([html])).toEqual({ segments, inlined: true });
  });

  it("puts an element's own style last, where it wins", () => {
    expect(inlined('<style>p{color:red}</style><p style="color:blue">a</p>')).toContain(
      '<p style="color: red; color:blue">',
    );
    expect(inlined("<style>p{font-family:'A'}</style><p style='color:blue'>a</p>")).toMatch(
      /<p style='font-family: .*; color:blue'>/,
    );
  });

  it('keeps placeholders byte for byte in every position', () => {
    const html = `{% assign x = 1 %}<!DOCTYPE html><html><head><title>{{ t }}</title><style>p { color: {{ brand | default: "red" }}; width: {{ w }}px } td { x: y }</style></head>
<body><p class="{{ c }}" {% if a %}title="b"{% endif %} style="margin: {{ m }}">\${name} & {{ n | default: '<"' }}</p>
<table>{% for l in lines %}<tr><td {{ attrs | raw }}>{{ l.x }}</td></tr>{% endfor %}</table>
<a href={{ u }}>x</a>{% raw %}{{ y }}{% endraw %}{%- comment -%} <p> {%- endcomment -%}\\\${z}<!--[if mso]>{{ mso }}<![endif]--></body></html>`;
    const result = inlined(html);
    const stripped = result
      .replace(' style="x: y;"', '')
      .replace('color: {{ brand | default: "red" }};width: {{ w }}px; margin', 'margin');
    expect(stripped).toBe(html);
    const before = placeholderSpans(html, 'html').map(({ start, end }) => html.slice(start, end));
    const after = placeholderSpans(result, 'html').map(({ start, end }) =>
      result.slice(start, end),
    );
    expect(after.filter((span) => before.includes(span))).toHaveLength(after.length);
  });

  it('produces a page that renders with values in inlined styles escaped', () => {
    const html = inlined('<style>p { color: {{ c }} }</style><p>{{ v }}</p>');
    expect(renderComplete(html, 'html', { c: 'red', v: '<' })).toContain(
      '<p style="color: red;">&lt;</p>',
    );
    expect(renderComplete(html, 'html', { c: 'red" onclick="x', v: '' })).toContain(
      '<p style="color: unset;">',
    );
  });

  it('skips a style sheet with tags', () => {
    const html = '<style>{% if dark %}p { color: red }{% endif %}</style><p>a</p>';
    expect(inlineCss([html])).toEqual({
      segments: [html],
      inlined: false,
      reason: 'nothing_to_inline',
    });
  });

  it('loads nothing', () => {
    const html =
      '<link rel="stylesheet" href="file:///etc/passwd"><link rel="stylesheet" href="http://127.0.0.1:9/x.css"><style>@import url("file:///etc/passwd"); p { color: red }</style><p>a</p>';
    expect(inlined(html)).toBe(html.replace('<p>', '<p style="color: red;">'));
  });

  /** The native inliner would overflow its stack and crash the process. */
  it.each([
    ['deep pages', '<div>'.repeat(50_000)],
    ['unclosed formatting', '<b>'.repeat(100) + '<p>x'.repeat(5_000)],
    ['too many tags', '<i></i>'.repeat(20_000)],
  ])('refuses %s', (_, body) => {
    const html = `<style>p{color:red}</style>${body}`;
    expect(inlineCss([html])).toEqual({
      segments: [html],
      inlined: false,
      reason: 'too_complex',
    });
  });

  it('skips style sheets that would take too long', () => {
    const rules = '.a ~ .b{x:y}'.repeat(1_000);
    expect(inlineCss([`<style>${rules}</style>${'<p></p>'.repeat(1_000)}`]).reason).toBe(
      'too_complex',
    );
    expect(inlineCss([`<style>${'a{'.repeat(5_000)}</style><p>`]).reason).toBe('too_complex');
  });
});
