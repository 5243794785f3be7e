import { escapeHtml } from '../../lib/html/escape-html.ts';
import { Html, html } from './html.ts';

/** The subset of Markdown that descriptions use: paragraphs, lists, **bold** and `code`. */
export function renderMarkdown(text: string | undefined): Html {
  if (text === undefined) return html``;
  const blocks = text.trim().split(/\n{2,}/);
  return new Html(blocks.map(block).join('\n'));
}

/** Bold and code within a line. */
export function renderInline(text: string): Html {
  // Escaped first, so that only the tags added afterwards are HTML.
  const marked = escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
  return new Html(marked);
}

function block(text: string): string {
  const lines = text.split('\n');
  if (lines.every((line) => line.startsWith('- '))) {
    return `<ul>${lines.map((line) => `<li>${renderInline(line.slice(2)).text}</li>`).join('')}</ul>`;
  }
  return `<p>${renderInline(text).text}</p>`;
}
