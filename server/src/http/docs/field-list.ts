import type { Field, FieldAlternatives } from './fields.ts';
import { type Html, html } from './html.ts';
import { renderInline } from './markdown.ts';

/** Fields as HTML; nested fields are collapsed. */
export function fieldList(alternatives: FieldAlternatives, depth = 0): Html {
  return html`${alternatives.map(
    (fields, index) => html`
      ${index > 0 && html`<p class="or">or</p>`}
      <dl class="fields">${fields.map((field) => entry(field, depth))}</dl>`,
  )}`;
}

function entry({ name, type, note, description, values, rules, nested }: Field, depth: number) {
  return html`<div class="field">
    <dt><code class="name">${name}</code> <span class="type">${type}</span>${
      note !== '' &&
      html` <span class="${note === 'required' ? 'required' : 'type'}">${note}</span>`
    }</dt>
    <dd>${description !== undefined && html`<p>${renderInline(description)}</p>`}${
      values.length > 0 &&
      html`<p class="values">${values.map((value) => html`<code>${value}</code> `)}</p>`
    }${rules !== '' && html`<p class="rules">${rules}</p>`}${
      nested.length > 0 &&
      html`<details><summary>${depth === 0 ? 'Fields' : 'More fields'}</summary>${fieldList(nested, depth + 1)}</details>`
    }</dd>
  </div>`;
}

/** Fields as a nested Markdown list. */
export function fieldListMarkdown(alternatives: FieldAlternatives, indent = ''): string {
  return alternatives
    .map((fields) => fields.map((field) => entryMarkdown(field, indent)).join(''))
    .join(`${indent}- or:\n`);
}

function entryMarkdown(field: Field, indent: string): string {
  const { name, type, note, description = '', values, rules, nested } = field;
  const facts = [type, note].filter((text) => text !== '').join(', ');
  const oneOf = values.length > 0 ? `One of ${values.map((one) => `\`${one}\``).join(', ')}.` : '';
  const text = [description.replaceAll(/\s*\n\s*/g, ' '), oneOf, rules].filter((one) => one !== '');
  const line = `${indent}- \`${name}\` (${facts})${text.length > 0 ? `: ${text.join(' ')}` : ''}\n`;
  return line + fieldListMarkdown(nested, `${indent}  `);
}
