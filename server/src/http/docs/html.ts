import { escapeHtml } from '../../lib/html/escape-html.ts';

/** Safe HTML: everything put into a template is escaped unless it is HTML already. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type Part = Html | string | number | null | undefined | false | readonly Part[];

export function html(strings: TemplateStringsArray, ...parts: Part[]): Html {
  return new Html(
    strings.map((text, index) => (index === 0 ? text : textOf(parts[index - 1]) + text)).join(''),
  );
}

/** Marks our own text as HTML. */
export function trusted(text: string): Html {
  return new Html(text);
}

function textOf(part: Part): string {
  if (part === null || part === undefined || part === false) return '';
  if (part instanceof Html) return part.text;
  if (typeof part === 'string' || typeof part === 'number') return escapeHtml(String(part));
  return part.map(textOf).join('');
}
