import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import type { CodePanels } from './code-panel.ts';
import { fieldList, parameterList } from './field-list.ts';
import { type Html, html } from './html.ts';
import { inline, prose } from './prose.ts';
import type { ApiMedia, ApiOperation, PlacedOperation, Reader } from './reader.ts';
import { samplesOf } from './samples.ts';

/** One operation: what it is for and takes on the left, how it looks on the right. */
export function operationSection(
  reader: Reader,
  panels: CodePanels,
  placed: PlacedOperation,
): Html {
  const { method, path, operation } = placed;
  return html`<section class="operation" id="${operation.operationId}">
    <div class="words">
      <h3><a href="#${operation.operationId}">${operation.summary}</a></h3>
      <p class="call">${methodBadge(method)} <code>${brokenPath(path)}</code></p>
      ${prose(operation.description)}
      ${parameters(reader, operation)}
      ${requestFields(reader, operation)}
      ${answers(reader, operation)}
      ${problems(reader, operation)}
    </div>
    <div class="code">${requestPanels(reader, panels, placed)}${answerPanels(reader, panels, operation)}</div>
  </section>`;
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`;
}

/** A long path may break after its slashes, and nowhere else. */
function brokenPath(path: string): Html {
  return html`${path.split('/').map((part, index) => html`${index > 0 && html`/<wbr>`}${part}`)}`;
}

/** A long code may break after its underscores. */
export function brokenCode(code: string): Html {
  return html`${code.split('_').map((part, index) => html`${index > 0 && html`_<wbr>`}${part}`)}`;
}

const PLACES = [
  ['path', 'In the path'],
  ['query', 'In the query'],
  ['header', 'Headers'],
] as const;

function parameters(reader: Reader, operation: ApiOperation): Html {
  return html`${PLACES.map(([place, title]) => {
    const there = operation.parameters?.filter((one) => one.in === place) ?? [];
    return there.length > 0 && html`<h4>${title}</h4>${parameterList(reader, there)}`;
  })}`;
}

function requestFields(reader: Reader, { requestBody }: ApiOperation): Html {
  const [type, media] = Object.entries(requestBody?.content ?? {})[0] ?? [];
  if (!media) return html``;
  const types = Object.keys(requestBody?.content ?? {}).join(', ');
  return html`<h4>Body <span class="media">${type === 'application/json' ? 'JSON' : types}</span></h4>
    ${fieldList(reader, media.schema, 'request')}`;
}

/** Headers that every answer has are told once, in the introduction. */
const EVERYWHERE = new Set(['X-Request-Id', 'RateLimit', 'RateLimit-Policy']);

function answers(reader: Reader, operation: ApiOperation): Html {
  const good = goodAnswers(reader, operation).map(({ status, response, type, media }) => {
    const headers = Object.entries(response.headers ?? {}).filter(
      ([name]) => !EVERYWHERE.has(name),
    );
    const fields = media ? fieldList(reader, media.schema, 'answer') : html``;
    return html`<div class="answer">
      <p><span class="status good">${status}</span> ${inline(response.description)}${
        type !== undefined &&
        type !== 'application/json' &&
        html` <span class="media">${type}</span>`
      }</p>
      ${headers.map(([name, header]) => html`<p class="header"><code>${name}</code> ${inline(header.description ?? '')}</p>`)}
      ${fields.text !== '' && html`<details><summary>Fields</summary>${fields}</details>`}
    </div>`;
  });
  return html`<h4>Answers</h4>${good}`;
}

function problems(reader: Reader, operation: ApiOperation): Html {
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

function requestPanels(reader: Reader, panels: CodePanels, placed: PlacedOperation): Html {
  const media = placed.operation.requestBody?.content['application/json'];
  const examples = Object.values(media?.examples ?? {});
  const shown = examples.length > 0 ? examples : [{ summary: 'Request', value: undefined }];
  return html`${shown.map(({ summary, value }) =>
    panels.panel(summary ?? 'Request', samplesOf(placed, reader.baseUrl, value), 'language'),
  )}`;
}

function answerPanels(reader: Reader, panels: CodePanels, operation: ApiOperation): Html {
  return html`${goodAnswers(reader, operation)
    .filter(({ media }) => media?.example !== undefined && !isEmpty(media.example))
    .map(({ status, media }) =>
      panels.panel(`Answer ${status}`, [
        { name: status, language: 'json', code: JSON.stringify(media?.example, null, 2) },
      ]),
    )}`;
}

function isEmpty(example: unknown): boolean {
  return typeof example === 'object' && example !== null && Object.keys(example).length === 0;
}

function goodAnswers(reader: Reader, { responses }: ApiOperation) {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([status, given]) => {
      const response = reader.response(given);
      const [type, media] = Object.entries(response.content ?? {})[0] ?? [];
      return { status, response, type, media: media as ApiMedia | undefined };
    });
}
