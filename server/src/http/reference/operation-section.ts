import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import type { CodePanels } from './code-panel.ts';
import { samplesOf } from './code-samples.ts';
import type {
  ApiMedia,
  ApiOperation,
  DocumentedOperation,
  DocumentReader,
} from './document-reader.ts';
import { fieldList, parameterList } from './field-list.ts';
import { type Html, html } from './html.ts';
import { renderInline, renderMarkdown } from './markdown.ts';

/** One operation: description, parameters and fields on the left, examples on the right. */
export function operationSection(
  reader: DocumentReader,
  panels: CodePanels,
  placed: DocumentedOperation,
): Html {
  const { method, path, operation } = placed;
  return html`<section class="operation" id="${operation.operationId}">
    <div class="text">
      <h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
      <p class="call">${methodBadge(method)} <code>${brokenPath(path)}</code></p>
      ${renderMarkdown(operation.description)}
      ${parameters(reader, operation)}
      ${requestFields(reader, operation)}
      ${responses(reader, operation)}
      ${problems(reader, operation)}
    </div>
    <div class="code">${requestPanels(reader, panels, placed)}${responsePanels(reader, panels, operation)}</div>
  </section>`;
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** A long path may break only after its slashes. */
function brokenPath(path: string): Html {
  return html`${path.split('/').map((part, index) => html`${index > 0 && html`/<wbr>`}${part}`)}`;
}

/** A long code may break only after its underscores. */
export function brokenCode(code: string): Html {
  return html`${code.split('_').map((part, index) => html`${index > 0 && html`_<wbr>`}${part}`)}`;
}

const LOCATIONS = [
  ['path', 'Path parameters'],
  ['query', 'Query parameters'],
  ['header', 'Headers'],
] as const;

function parameters(reader: DocumentReader, operation: ApiOperation): Html {
  return html`${LOCATIONS.map(([location, title]) => {
    const matching = operation.parameters?.filter((one) => one.in === location) ?? [];
    return matching.length > 0 && html`<h4>${title}</h4>${parameterList(reader, matching)}`;
  })}`;
}

function requestFields(reader: DocumentReader, { requestBody }: ApiOperation): Html {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (!media) return html``;
  const types = Object.keys(requestBody?.content ?? {}).join(', ');
  return html`<h4>Body <span class="media">${type === 'application/json' ? 'JSON' : types}</span></h4>
    ${fieldList(reader, media.schema, 'request')}`;
}

/** Headers that every response has are explained once in the introduction. */
const EVERYWHERE = new Set(['X-Request-Id', 'RateLimit', 'RateLimit-Policy']);

function responses(reader: DocumentReader, operation: ApiOperation): Html {
  const good = goodAnswers(reader, operation).map(({ status, response, type, media }) => {
    const headers = Object.entries(response.headers ?? {}).filter(
      ([name]) => !EVERYWHERE.has(name),
    );
    const fields = media ? fieldList(reader, media.schema, 'response') : html``;
    return html`<div class="response">
      <p><span class="status good">${status}</span> ${renderInline(response.description)}${
        type !== undefined &&
        type !== 'application/json' &&
        html` <span class="media">${type}</span>`
      }</p>
      ${headers.map(([name, header]) => html`<p class="header"><code>${name}</code> ${renderInline(header.description ?? '')}</p>`)}
      ${fields.text !== '' && html`<details><summary>Fields</summary>${fields}</details>`}
    </div>`;
  });
  return html`<h4>Responses</h4>${good}`;
}

function problems(reader: DocumentReader, operation: ApiOperation): Html {
  const rows = reader.problems(operation).flatMap(({ status, codes }) =>
    codes.map(
      (code) => html`<tr>
        <td><span class="status bad">${status}</span></td>
        <td><a href="/docs/errors/${code.replaceAll('_', '-')}"><code>${brokenCode(code)}</code></a></td>
        <td>${PROBLEMS[code as ProblemCode]?.title ?? ''}</td>
      </tr>`,
    ),
  );
  return html`<details class="problems"><summary>Errors <span class="count">${rows.length}</span></summary>
    <table><tbody>${rows}</tbody></table></details>`;
}

function requestPanels(
  reader: DocumentReader,
  panels: CodePanels,
  placed: DocumentedOperation,
): Html {
  const media = placed.operation.requestBody?.content['application/json'];
  const examples = Object.values(media?.examples ?? {});
  const shown = examples.length > 0 ? examples : [{ summary: 'Request', value: undefined }];
  return html`${shown.map(({ summary, value }) =>
    panels.panel(summary ?? 'Request', samplesOf(placed, reader.baseUrl, value), 'language'),
  )}`;
}

function responsePanels(reader: DocumentReader, panels: CodePanels, operation: ApiOperation): Html {
  return html`${goodAnswers(reader, operation)
    .filter(({ media }) => media?.example !== undefined && !isEmpty(media.example))
    .map(({ status, media }) =>
      panels.panel(`Response ${status}`, [
        { name: status, language: 'json', code: JSON.stringify(media?.example, null, 2) },
      ]),
    )}`;
}

function isEmpty(example: unknown): boolean {
  return typeof example === 'object' && example !== null && Object.keys(example).length === 0;
}

function goodAnswers(reader: DocumentReader, { responses }: ApiOperation) {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([status, given]) => {
      const response = reader.response(given);
      const [type, media] = Object.entries(response.content ?? {})[0] ?? [];
      return { status, response, type, media: media as ApiMedia | undefined };
    });
}
