const SPECIAL = /[&<>"'\0]/;
const ALL_SPECIAL = /[&<>"'\0]/g;
const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\0': '\uFFFD',
};

/** Escapes text for HTML text and quoted attribute values. */
export function escapeHtml(text: string): string {
  if (!SPECIAL.test(text)) return text;
  return text.replace(ALL_SPECIAL, (character) => ESCAPES[character] ?? character);
}

/** Makes HTML that is already escaped safe inside a quoted attribute, without escaping it again. */
export function escapeHtmlInAttribute(html: string): string {
  return html.replace(/[<>"'\0]/g, (character) => ESCAPES[character] ?? character);
}
