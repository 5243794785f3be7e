import { VERSION } from '../../version.ts';
import { DOCS } from './docs-paths.ts';
import { type Html, html } from './html.ts';

/**
 * The frame of every page, with the fonts, colors and theme of the dashboard. Pages can be read and
 * searched without a script, and load nothing from other hosts. They use the brand color,
 * independent of the mode.
 */

export interface PageFrameParts {
  title: string;
  description?: string | undefined;
  navigation: Html;
  main: Html;
  /** The same page as Markdown. */
  markdownPath?: string | undefined;
  /** The text in the search field. */
  query?: string;
}

export function pageFrame(parts: PageFrameParts): string {
  const { title, description, navigation, main, markdownPath, query } = parts;
  return html`<!doctype html>
<html lang="en" data-mode="live">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${description !== undefined && html`<meta name="description" content="${description}">`}
${markdownPath !== undefined && html`<link rel="alternate" type="text/markdown" href="${markdownPath}">`}
<link rel="icon" href="${DOCS}/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${DOCS}/style.css">
<script src="${DOCS}/before-paint.js"></script>
<script src="${DOCS}/script.js" defer></script>
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<aside>
  <a class="brand" href="${DOCS}"><img src="${DOCS}/icon.svg" alt="" width="24" height="24"> Postrider</a>
  <div class="switch"><a href="/app">Dashboard</a><a href="${DOCS}" aria-current="true">Documentation</a></div>
  <details class="menu" open><summary>Contents</summary>
  <div class="contents">
    <form class="search" role="search" action="${DOCS}/search">
      <input type="search" name="q" value="${query ?? ''}" placeholder="Search" aria-label="Search the documentation" autocomplete="off" maxlength="200"><kbd>/</kbd>
    </form>
    <nav aria-label="Contents">${navigation}</nav>
    <div class="switch theme" role="group" aria-label="Theme" hidden>
      <button type="button" value="light">Light</button><button type="button" value="dark">Dark</button><button type="button" value="system">System</button>
    </div>
  </div>
  </details>
</aside>
<main id="main" tabindex="-1"><div class="sheet">${main}
<footer><span>Postrider ${VERSION}</span>${markdownPath !== undefined && html`<a href="${markdownPath}">This page as Markdown</a>`}<a href="/llms.txt">llms.txt</a></footer>
</div></main>
</body>
</html>
`.text;
}

/** Also shown for unknown paths outside the documentation, so it needs nothing but this file. */
export function notFoundPage(): string {
  return pageFrame({
    title: 'Page not found',
    navigation: html`<ul>
      <li><a href="${DOCS}">Documentation</a></li>
      <li><a href="${DOCS}/api">API reference</a></li>
      <li><a href="${DOCS}/errors">Error codes</a></li>
    </ul>`,
    main: html`<header class="top"><h1>Page not found</h1>
      <p class="lead">The address may be mistyped, or the page was removed.</p>
      <p><a href="/app">Dashboard</a> · <a href="${DOCS}">Documentation</a> ·
        <a href="${DOCS}/errors">Error codes</a></p></header>`,
  });
}
