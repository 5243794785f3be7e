import { CodePanels } from './code-panel.ts';
import type { DocumentReader } from './document-reader.ts';
import { eventAnchor, eventsSection } from './events-section.ts';
import { guideSection, guides } from './guides.ts';
import { type Html, html } from './html.ts';
import { renderMarkdown } from './markdown.ts';
import { methodBadge, operationSection } from './operation-section.ts';

/** The API reference on a single page, so that the browser's search finds everything. */
export function referencePage(reader: DocumentReader): string {
  const panels = new CodePanels();
  const chapters = guides(reader, panels);
  const { info } = reader.document;
  return pageFrame({
    title: `${info.title} API reference`,
    navigation: navigation(reader, chapters),
    main: html`
      <header class="top">
        <h1>${info.title} API</h1>
        <p class="lead">${info.summary}</p>
        <p class="facts"><span>Version ${info.version}</span> <span>Base URL <code>${reader.baseUrl}</code></span>
          <span>OpenAPI 3.1: <a href="/api/v1/openapi.json">JSON</a>, <a href="/api/v1/openapi.yaml">YAML</a></span></p>
      </header>
      ${chapters.map(guideSection)}
      ${reader.groups().map(
        ({ name, description, operations }) => html`
        <section class="group" id="${groupAnchor(name)}">
          <h2><a href="#${groupAnchor(name)}">${name}</a></h2>
          ${renderMarkdown(description)}
        </section>
        ${operations.map((operation) => operationSection(reader, panels, operation))}`,
      )}
      ${eventsSection(reader, panels)}`,
  });
}

export interface PageFrameParts {
  title: string;
  navigation: Html;
  main: Html;
}

/**
 * The frame of every page, with the fonts, colors and theme of the dashboard. It loads nothing
 * from other hosts and uses the brand color, independent of the mode.
 */
export function pageFrame({ title, navigation, main }: PageFrameParts): string {
  return html`<!doctype html>
<html lang="en" data-mode="live">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<link rel="icon" href="/docs/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/style.css">
<script src="/docs/before-paint.js"></script>
<script src="/docs/script.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<aside>
  <a class="brand" href="/docs"><img src="/docs/icon.svg" alt="" width="24" height="24"> Postrider</a>
  <div class="switch"><a href="/app">Dashboard</a><a href="/docs" aria-current="true">Reference</a></div>
  <details class="menu" open><summary>Contents</summary>
  <div class="contents">
    <p class="filter" hidden><input type="search" placeholder="Filter" aria-label="Filter"></p>
    <nav aria-label="Contents">${navigation}</nav>
    <div class="switch theme" role="group" aria-label="Theme" hidden>
      <button type="button" value="light">Light</button><button type="button" value="dark">Dark</button><button type="button" value="system">System</button>
    </div>
  </div>
  </details>
</aside>
<main id="main" tabindex="-1"><div class="sheet">${main}</div></main>
</body>
</html>
`.text;
}

export function navigation(
  reader: DocumentReader,
  chapters: readonly { id: string; title: string }[],
): Html {
  return html`
    <h2>Basics</h2>
    <ul>${chapters.map(({ id, title }) => entry(`#${id}`, html`${title}`))}</ul>
    ${reader.groups().map(
      ({ name, operations }) => html`<h2>${name}</h2>
      <ul>${operations.map(({ method, operation }) =>
        entry(`#${operation.operationId}`, html`${operation.summary} ${methodBadge(method)}`),
      )}</ul>`,
    )}
    <h2>Event types</h2>
    <ul>${reader.events().map(({ type }) => entry(`#${eventAnchor(type)}`, html`<code>${type}</code>`))}</ul>
    <h2>More</h2>
    <ul>${entry('/docs/errors', html`Error codes`)}</ul>`;
}

function entry(href: string, label: Html): Html {
  return html`<li><a href="${href}">${label}</a></li>`;
}

function groupAnchor(name: string): string {
  return name.toLowerCase().replaceAll(' ', '-');
}
