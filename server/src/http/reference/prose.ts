import { escapeHtml, Html, html } from './html.ts';

/** The little of Markdown that descriptions use: paragraphs, lists, **bold** and `code`. */
export function prose(text: string | undefined): Html {
  if (text === undefined) return html``;
  const blocks = text.trim().split(/\n{2,}/);
  return new Html(blocks.map(block).join('\n'));
}

/** Bold and code within a line. */
export function inline(text: string): Html {
  // Escaped first: what is added afterwards is all the HTML there can be.
  const marked = escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>');
  return new Html(marked);
}

function block(text: string): string {
  const lines = text.split('\n');
  if (lines.every((line) => line.startsWith('- '))) {
    return `<ul>${lines.map((line) => `<li>${inline(line.slice(2)).text}</li>`).join('')}</ul>`;
  }
  return `<p>${inline(text).text}</p>`;
}
