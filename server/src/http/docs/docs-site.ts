import { setImmediate } from 'node:timers/promises';
import { apiPages } from './api-pages.ts';
import type { DocsPage, PageGroup } from './docs-page.ts';
import { DOCS } from './docs-paths.ts';
import { type ApiDocument, DocumentReader } from './document-reader.ts';
import { errorIndexPage, errorPages } from './error-pages.ts';
import { readGuides } from './guide-pages.ts';
import { type Html, html } from './html.ts';
import { pageFrame } from './page-frame.ts';
import { type SearchHit, SearchIndex } from './search-index.ts';

/**
 * All pages of the documentation: guides from Markdown files, and the API reference from the OpenAPI
 * document. It knows their order and paths; their content is made by each page when it is needed.
 */

const TITLE = 'Postrider documentation';
const SUMMARY =
  'Postrider is a self-hosted transactional email service: an HTTP API and SMTP submission, templates, webhooks, a test mode and a dashboard.';
const HITS_SHOWN = 30;

export async function openDocsSite(document: object, root: string): Promise<DocsSite> {
  const reader = new DocumentReader(document as ApiDocument);
  const { start, guides, operation, api } = await readGuides(root, reader.baseUrl);
  return new DocsSite(
    reader,
    [
      { title: 'Get started', pages: start },
      { title: 'Guides', pages: guides },
      { title: 'Operation', pages: operation },
      { title: 'API reference', pages: [api, ...apiPages(reader), errorIndexPage()] },
    ],
    errorPages(reader),
  );
}

export class DocsSite {
  readonly #reader: DocumentReader;
  readonly #groups: readonly PageGroup[];
  readonly #pages: ReadonlyMap<string, DocsPage>;
  #index: Promise<SearchIndex> | undefined;

  constructor(
    reader: DocumentReader,
    groups: readonly PageGroup[],
    /** Pages that are found by a link or a search, and are not in the table of contents. */
    unlisted: readonly DocsPage[],
  ) {
    this.#reader = reader;
    this.#groups = groups;
    const pages = [this.#startPage(), ...groups.flatMap((group) => group.pages), ...unlisted];
    this.#pages = new Map(pages.map((page) => [page.path, page]));
  }

  page(path: string): DocsPage | undefined {
    return this.#pages.get(path);
  }

  html(page: DocsPage): string {
    return pageFrame({
      title: page.path === DOCS ? TITLE : `${page.title} · Postrider`,
      description: page.summary,
      navigation: this.#navigation(page),
      main: page.main(),
      markdownPath: `${page.path}.md`,
    });
  }

  /** The index of https://llmstxt.org: every page with one sentence. */
  llms(): string {
    const { baseUrl } = this.#reader;
    const groups = this.#groups.map(
      ({ title, pages }) =>
        `## ${title}\n\n${pages
          .map((page) => `- [${page.title}](${baseUrl}${page.path}.md): ${page.summary}\n`)
          .join('')}`,
    );
    const more = `## Optional\n\n- [All pages in one file](${baseUrl}/llms-full.txt)\n- [OpenAPI 3.1 document](${baseUrl}/api/v1/openapi.json)\n`;
    return [`# Postrider\n\n> ${SUMMARY}\n`, ...groups, more].join('\n');
  }

  /** All pages as one text, without those of single errors. */
  llmsFull(): string {
    const listed = this.#groups.flatMap(({ pages }) => pages);
    return listed.map((page) => page.markdown()).join('\n\n---\n\n');
  }

  async search(query: string, limit = HITS_SHOWN): Promise<SearchHit[]> {
    this.#index ??= this.#buildIndex();
    return (await this.#index).find(query, limit);
  }

  async searchPage(query: string): Promise<string> {
    const hits = query.trim() === '' ? [] : await this.search(query);
    const message =
      query.trim() === ''
        ? html`<p class="lead">Type what you are looking for into the search field.</p>`
        : hits.length === 0
          ? html`<p class="lead">No results for “${query}”.</p>`
          : html`<p class="lead">Results for “${query}”</p>`;
    return pageFrame({
      title: 'Search · Postrider',
      navigation: this.#navigation(undefined),
      query,
      main: html`<header class="top"><h1>Search</h1>${message}</header>
        <ol class="hits">${hits.map(
          ({ url, page, title, excerpt }) =>
            html`<li><a href="${url}">${title}</a> <span class="type">${page}</span><p>${excerpt}</p></li>`,
        )}</ol>`,
    });
  }

  /** Pauses between pages, because the process also delivers mail. */
  async #buildIndex(): Promise<SearchIndex> {
    const index = new SearchIndex();
    for (const { path, title: page, passages } of this.#pages.values()) {
      for (const { id, title, text } of passages()) {
        index.add({ url: id === '' ? path : `${path}#${id}`, page, title, text });
      }
      await setImmediate();
    }
    return index;
  }

  #startPage(): DocsPage {
    const { document, baseUrl } = this.#reader;
    return {
      path: DOCS,
      title: TITLE,
      summary: SUMMARY,
      sections: () => [],
      main: () => html`<header class="top"><h1>${TITLE}</h1>
        <p class="lead">${SUMMARY}</p>
        <p class="facts"><span>Version ${document.info.version}</span> <span>Base URL <code>${baseUrl}</code></span>
          <span>OpenAPI 3.1: <a href="/api/v1/openapi.json">JSON</a>, <a href="/api/v1/openapi.yaml">YAML</a></span></p></header>
        ${this.#groups.map(
          ({ title, pages }) => html`<section class="index"><h2>${title}</h2>
          <ul class="cards">${pages.map(
            (page) =>
              html`<li><a href="${page.path}"><strong>${page.title}</strong><span>${page.summary.replaceAll('`', '')}</span></a></li>`,
          )}</ul></section>`,
        )}`,
      markdown: () => this.llms(),
      passages: () => [],
    };
  }

  #navigation(current: DocsPage | undefined): Html {
    return html`${this.#groups.map(
      ({ title, pages }) => html`<h2>${title}</h2>
      <ul>${pages.map((page) => {
        const isOpen =
          page === current || (current?.path.startsWith(`${page.path}/`) && page.path !== API_BASE);
        return html`<li><a href="${page.path}"${isOpen && html` aria-current="page"`}>${page.title}</a>${
          page === current && sectionList(page)
        }</li>`;
      })}</ul>`,
    )}`;
  }
}

/** Resources are below the path of the introduction, and are not part of it. */
const API_BASE = `${DOCS}/api`;

function sectionList(page: DocsPage): Html {
  const sections = page.sections();
  if (sections.length === 0) return html``;
  return html`<ul>${sections.map(({ id, label }) => html`<li><a href="#${id}">${label}</a></li>`)}</ul>`;
}
