import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import { CodePanels } from './code-panel.ts';
import type { DocumentReader } from './document-reader.ts';
import { type Html, html } from './html.ts';
import { renderInline } from './markdown.ts';
import { brokenCode } from './operation-section.ts';
import { pageFrame } from './reference-page.ts';

/**
 * A page for each problem code, at the URL in the `type` of a problem, and an index of all
 * codes.
 */

const CODES = Object.keys(PROBLEMS) as ProblemCode[];

export function errorPath(code: string): string {
  return `/docs/errors/${code.replaceAll('_', '-')}`;
}

export function errorPages(reader: DocumentReader): Map<string, string> {
  const pages = CODES.map((code): [string, string] => [errorPath(code), errorPage(reader, code)]);
  return new Map([['/docs/errors', listPage()], ...pages]);
}

function listPage(): string {
  return pageFrame({
    title: 'Error codes',
    navigation: navigation(),
    main: html`<header class="top"><h1>Error codes</h1>
      <p class="lead">All errors by the <code>code</code> of the problem.</p></header>
      <table class="plain errors"><tbody>${CODES.map(
        (code) => html`<tr>
          <td><span class="status bad">${PROBLEMS[code].status}</span></td>
          <td><a href="${errorPath(code)}"><code>${brokenCode(code)}</code></a></td>
          <td>${PROBLEMS[code].title}</td></tr>`,
      )}</tbody></table>`,
  });
}

/** The part of the request that an error is most likely about. */
const FIELD_ERROR = {
  pointer: '/to/email',
  code: 'invalid_email',
  detail: 'The address has no @.',
};

function errorPage(reader: DocumentReader, code: ProblemCode): string {
  const { status, title, meaning, fix } = PROBLEMS[code];
  const problem = {
    type: reader.baseUrl + errorPath(code),
    title,
    status,
    code,
    detail: meaning,
    fix: fix.replaceAll('{app}', reader.baseUrl),
    request_id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
    ...(code === 'validation_failed' ? { errors: [FIELD_ERROR] } : {}),
  };
  return pageFrame({
    title: `${code}: ${title}`,
    navigation: navigation(),
    main: html`<header class="top">
        <p class="call"><span class="status bad">${status}</span> <code>${code}</code></p>
        <h1>${title}</h1>
      </header>
      <section class="operation"><div class="text">
        <h4>Meaning</h4><p>${renderInline(meaning)}</p>
        <h4>How to fix it</h4><p>${renderInline(problem.fix)}</p>
        ${givenBy(reader, code)}
      </div>
      <div class="code">${new CodePanels().panel('Response', [
        { name: 'JSON', language: 'json', code: JSON.stringify(problem, null, 2) },
      ])}</div></section>`,
  });
}

function givenBy(reader: DocumentReader, code: ProblemCode): Html {
  const operations = reader
    .operations()
    .filter(({ operation }) =>
      reader.problems(operation).some(({ codes }) => codes.includes(code)),
    );
  if (operations.length === 0) return html`<p>Any request can return it.</p>`;
  return html`<h4>Returned by</h4><ul>${operations.map(
    ({ operation }) =>
      html`<li><a href="/docs#${operation.operationId}">${operation.summary}</a></li>`,
  )}</ul>`;
}

function navigation(): Html {
  return html`<h2>More</h2><ul><li><a href="/docs">API reference</a></li><li><a href="/docs/errors">All error codes</a></li></ul>
    <h2>Error codes</h2>
    <ul>${CODES.map((code) => html`<li><a href="${errorPath(code)}"><code>${code}</code></a></li>`)}</ul>`;
}

export function notFoundPage(): string {
  return pageFrame({
    title: 'Not found',
    navigation: navigation(),
    main: html`<header class="top"><h1>Page not found</h1>
      <p class="lead"><a href="/app">Dashboard</a> · <a href="/docs">API reference</a> ·
        <a href="/docs/errors">All error codes</a></p></header>`,
  });
}
