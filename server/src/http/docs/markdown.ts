import { lexer, type MarkedToken, type Token, type Tokens } from 'marked';
import { CodePanels } from './code-panel.ts';
import { languageOf } from './highlight.ts';
import { type Html, html } from './html.ts';

/**
 * Markdown to HTML. The library only splits the text into tokens; every token becomes HTML here and
 * is escaped, so no text can add an element. HTML in Markdown is shown as text, except for
 * comments, which are left out.
 */

export interface MarkdownOptions {
  panels?: CodePanels;
  /** Returns where a link leads, or undefined to show only its text. */
  link?: (target: string) => string | undefined;
  /** Changes code before it is shown. */
  code?: (code: string) => string;
}

export interface Heading {
  id: string;
  title: string;
  level: number;
}

/** The part of a text below one heading, up to the next one. */
export interface Passage {
  id: string;
  title: string;
  text: string;
}

export function renderMarkdown(text: string | undefined, options: MarkdownOptions = {}): Html {
  if (text === undefined) return html``;
  return new MarkdownRenderer(options).blocks(lexer(text));
}

/** Bold, code and links within a line. */
export function renderInline(text: string): Html {
  const tokens = lexer(text.replaceAll(/\s*\n\s*/g, ' '));
  const renderer = new MarkdownRenderer({});
  return html`${tokens.map((token) =>
    'tokens' in token && token.type === 'paragraph'
      ? renderer.inline(token.tokens ?? [])
      : token.raw,
  )}`;
}

/** A guide, read once: its title, its first paragraph, its headings and its passages. */
export class MarkdownDocument {
  readonly #tokens: MarkedToken[];
  readonly title: string;
  readonly lead: string;
  readonly headings: readonly Heading[];

  constructor(text: string) {
    this.#tokens = lexer(text) as MarkedToken[];
    const ids = new HeadingIds();
    const all = this.#tokens
      .filter((token) => token.type === 'heading')
      .map((token) => ({
        id: ids.next(token.text),
        title: plain(token.tokens),
        level: token.depth,
      }));
    this.title = all.find(({ level }) => level === 1)?.title ?? '';
    this.headings = all.filter(({ level }) => level > 1);
    const paragraph = this.#tokens.find((token) => token.type === 'paragraph');
    this.lead = paragraph ? firstSentence(plain(paragraph.tokens)) : '';
  }

  /** Everything below the title. */
  body(options: MarkdownOptions): Html {
    const isTitle = (token: MarkedToken): boolean => token.type === 'heading' && token.depth === 1;
    return new MarkdownRenderer(options).blocks(this.#tokens.filter((token) => !isTitle(token)));
  }

  /** The same text with other links and code, and without comments. */
  source({ link = (target) => target, code = (text) => text }: MarkdownOptions): string {
    return this.#tokens
      .filter((token) => !isComment(token))
      .map((token) => (token.type === 'code' ? code(token.raw) : relinked(code(token.raw), link)))
      .join('');
  }

  passages(): Passage[] {
    const ids = new HeadingIds();
    const passages: Passage[] = [];
    for (const token of this.#tokens) {
      if (token.type === 'heading') {
        const id = ids.next(token.text);
        passages.push({ id: token.depth === 1 ? '' : id, title: plain(token.tokens), text: '' });
      } else {
        const last = passages.at(-1);
        if (last) last.text += `${plain([token])} `;
      }
    }
    return passages;
  }
}

/** Links of a text that is not code; targets contain neither spaces nor parentheses. */
function relinked(text: string, link: (target: string) => string | undefined): string {
  return text.replaceAll(/\[([^[\]]*)\]\(([^()\s]+)\)/g, (_, label: string, target: string) => {
    const place = link(target);
    return place === undefined ? label : `[${label}](${place})`;
  });
}

function firstSentence(text: string): string {
  return /^.*?[.:](?= [A-Z]|$)/s.exec(text)?.[0].replace(/:$/, '.') ?? text;
}

/** The ids that GitHub gives to headings, so that links work in the repository and here. */
class HeadingIds {
  readonly #used = new Map<string, number>();

  next(heading: string): string {
    const id = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .trim()
      .replaceAll(' ', '-');
    const count = this.#used.get(id) ?? 0;
    this.#used.set(id, count + 1);
    return count === 0 ? id : `${id}-${count}`;
  }
}

function isComment(token: Token): boolean {
  return token.type === 'html' && /^<!--[\s\S]*-->\s*$/.test(token.raw);
}

/** The text of tokens without markup, for titles and for the search. */
function plain(tokens: readonly Token[]): string {
  return tokens
    .map((given) => {
      const token = given as MarkedToken;
      switch (token.type) {
        case 'table':
          return [token.header, ...token.rows]
            .map((row) => row.map((cell) => plain(cell.tokens)).join(' '))
            .join('\n');
        case 'list':
          return token.items.map((item) => plain(item.tokens)).join('\n');
        case 'space':
        case 'br':
          return ' ';
        case 'html':
          return isComment(token) ? '' : token.text;
        default:
          if ('tokens' in token && token.tokens) return plain(token.tokens);
          return 'text' in token ? token.text : '';
      }
    })
    .join('');
}

class MarkdownRenderer {
  readonly #ids = new HeadingIds();
  readonly #panels: CodePanels;
  readonly #options: MarkdownOptions;

  constructor(options: MarkdownOptions) {
    this.#options = options;
    this.#panels = options.panels ?? new CodePanels();
  }

  blocks(tokens: readonly Token[]): Html {
    return html`${tokens.map((token) => this.#block(token as MarkedToken))}`;
  }

  inline(tokens: readonly Token[]): Html {
    return html`${tokens.map((token) => this.#span(token as MarkedToken))}`;
  }

  #block(token: MarkedToken): Html {
    switch (token.type) {
      case 'heading':
        return this.#heading(token);
      case 'paragraph':
        return html`<p>${this.inline(token.tokens)}</p>`;
      case 'list':
        return this.#list(token);
      case 'code':
        return this.#code(token);
      case 'table':
        return this.#table(token);
      case 'blockquote':
        return html`<blockquote>${this.blocks(token.tokens)}</blockquote>`;
      case 'hr':
        return html`<hr>`;
      case 'space':
      case 'def':
        return html``;
      case 'text':
        return token.tokens ? this.inline(token.tokens) : html`${token.text}`;
      case 'html':
        return isComment(token) ? html`` : html`<p>${token.text}</p>`;
      default:
        return html`<p>${this.#span(token)}</p>`;
    }
  }

  #heading({ depth, text, tokens }: Tokens.Heading): Html {
    const id = this.#ids.next(text);
    const title = html`<a href="#${id}">${this.inline(tokens)}</a>`;
    if (depth === 2) return html`<h2 id="${id}">${title}</h2>`;
    if (depth === 3) return html`<h3 id="${id}">${title}</h3>`;
    return html`<h4 id="${id}">${title}</h4>`;
  }

  #list({ ordered, items }: Tokens.List): Html {
    const entries = items.map((item) => html`<li>${this.blocks(item.tokens)}</li>`);
    return ordered ? html`<ol>${entries}</ol>` : html`<ul>${entries}</ul>`;
  }

  #code({ text, lang }: Tokens.Code): Html {
    const { code = (given) => given } = this.#options;
    const { title, language } = languageOf(lang ?? '');
    return this.#panels.panel(title, [{ name: title, language, code: code(text) }]);
  }

  /** A wide table scrolls; with a name and a tab stop, it also does so by keyboard. */
  #table({ header, rows }: Tokens.Table): Html {
    const isNamed = header.some(({ text }) => text !== '');
    const cell = (one: Tokens.TableCell): Html => html`<td>${this.inline(one.tokens)}</td>`;
    const name = header.map(({ tokens }) => plain(tokens)).join(', ');
    return html`<div class="table" role="region" tabindex="0" aria-label="Table${isNamed && html`: ${name}`}"><table>${
      isNamed &&
      html`<thead><tr>${header.map((one) => (one.text === '' ? html`<td></td>` : html`<th scope="col">${this.inline(one.tokens)}</th>`))}</tr></thead>`
    }<tbody>${rows.map((row) => html`<tr>${row.map(cell)}</tr>`)}</tbody></table></div>`;
  }

  #span(token: MarkedToken): Html {
    switch (token.type) {
      case 'codespan': {
        const { code = (given) => given } = this.#options;
        return html`<code>${code(token.text)}</code>`;
      }
      case 'strong':
        return html`<strong>${this.inline(token.tokens)}</strong>`;
      case 'em':
        return html`<em>${this.inline(token.tokens)}</em>`;
      case 'del':
        return html`<del>${this.inline(token.tokens)}</del>`;
      case 'br':
        return html`<br>`;
      case 'link':
        return this.#link(token);
      case 'image':
        return html`${token.text}`;
      case 'html':
        return isComment(token) ? html`` : html`${token.text}`;
      default:
        if ('tokens' in token && token.tokens) return this.inline(token.tokens);
        return html`${'text' in token ? token.text : ''}`;
    }
  }

  #link({ href, tokens }: Tokens.Link): Html {
    const { link = (target) => target } = this.#options;
    const place = link(href);
    const text = this.inline(tokens);
    // No other scheme is followed: javascript: would run in the page.
    if (place === undefined || !/^(?:https?:\/\/|mailto:|\/(?!\/)|#)/i.test(place)) return text;
    return html`<a href="${place}">${text}</a>`;
  }
}
