import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import { CodePanels } from './code-panel.ts';
import type { DocsPage } from './docs-page.ts';
import { DOCS, errorPath, resourcePath } from './docs-paths.ts';
import type { DocumentedOperation, DocumentReader } from './document-reader.ts';
import { html } from './html.ts';
import { renderInline } from './markdown.ts';
import { brokenCode, fenced } from './operation-section.ts';

/**
 * A page for each problem code, at the URL in the `type` of a problem, and an index of all
 * codes.
 */

const CODES = Object.keys(PROBLEMS) as ProblemCode[];
const TITLE = 'Error codes';

export function errorIndexPage(): DocsPage {
  return {
    path: `${DOCS}/errors`,
    title: TITLE,
    summary: 'All errors by the code of the problem, each with its meaning and how to fix it.',
    sections: () => [],
    main: () => html`<header class="top"><h1>${TITLE}</h1>
      <p class="lead">All errors by the <code>code</code> of the problem.</p></header>
      <table class="plain errors"><tbody>${CODES.map(
        (code) => html`<tr>
          <td><span class="status bad">${PROBLEMS[code].status}</span></td>
          <td><a href="${errorPath(code)}"><code>${brokenCode(code)}</code></a></td>
          <td>${PROBLEMS[code].title}</td></tr>`,
      )}</tbody></table>`,
    markdown: () =>
      [
        `# ${TITLE}\n`,
        '| Status | Code | Meaning |\n|---|---|---|',
        ...CODES.map(
          (code) =>
            `| ${PROBLEMS[code].status} | [\`${code}\`](${errorPath(code)}.md) | ${PROBLEMS[code].title} |`,
        ),
        '',
      ].join('\n'),
    passages: () => [{ id: '', title: TITLE, text: 'All errors by the code of the problem.' }],
  };
}

export function errorPages(reader: DocumentReader): DocsPage[] {
  return CODES.map((code) => errorPage(reader, code));
}

/** The part of the request that an error is most likely about. */
const FIELD_ERROR = {
  pointer: '/to/email',
  code: 'invalid_email',
  detail: 'The address has no @.',
};

function errorPage(reader: DocumentReader, code: ProblemCode): DocsPage {
  const { status, title, meaning, fix: fixTemplate } = PROBLEMS[code];
  const fix = fixTemplate.replaceAll('{app}', reader.baseUrl);
  const example = (): string => JSON.stringify(exampleProblem(reader, code, fix), null, 2);
  return {
    path: errorPath(code),
    title: `${code}: ${title}`,
    summary: meaning,
    sections: () => [],
    main: () => {
      const operations = operationsReturning(reader, code);
      return html`<header class="top">
        <p class="call"><span class="status bad">${status}</span> <code>${code}</code></p>
        <h1>${title}</h1>
      </header>
      <section class="operation"><div class="text">
        <h2>Meaning</h2><p>${renderInline(meaning)}</p>
        <h2>How to fix it</h2><p>${renderInline(fix)}</p>
        ${
          operations.length === 0
            ? html`<p>Any request can return it.</p>`
            : html`<h2>Returned by</h2><ul>${operations.map(
                (one) =>
                  html`<li><a href="${operationPath(one)}">${one.operation.summary}</a></li>`,
              )}</ul>`
        }
      </div>
      <div class="code">${new CodePanels().panel('Response', [
        { name: 'JSON', language: 'json', code: example() },
      ])}</div></section>`;
    },
    markdown: () =>
      [
        `# ${status} \`${code}\`: ${title}`,
        meaning,
        `## How to fix it\n\n${fix}`,
        `${fenced('json', example())}\n`,
      ].join('\n\n'),
    passages: () => [{ id: '', title: `${code}: ${title}`, text: `${meaning} ${fix}` }],
  };
}

function exampleProblem(reader: DocumentReader, code: ProblemCode, fix: string): object {
  const { status, title, meaning } = PROBLEMS[code];
  return {
    type: reader.baseUrl + errorPath(code),
    title,
    status,
    code,
    detail: meaning,
    fix,
    request_id: 'req_01kc8x3f7ye6qvj2m4n5p6q7r8',
    ...(code === 'validation_failed' ? { errors: [FIELD_ERROR] } : {}),
  };
}

function operationsReturning(reader: DocumentReader, code: ProblemCode): DocumentedOperation[] {
  return reader
    .operations()
    .filter(({ operation }) =>
      reader.problems(operation).some(({ codes }) => codes.includes(code)),
    );
}

function operationPath({ operation }: DocumentedOperation): string {
  return `${resourcePath(operation.tags[0] ?? '')}#${operation.operationId}`;
}
