import { PROBLEMS, type ProblemCode } from '../problems/problem-types.ts';
import type { CodePanels } from './code-panel.ts';
import { samplesOf } from './code-samples.ts';
import { errorPath } from './docs-paths.ts';
import type {
  ApiMedia,
  ApiOperation,
  DocumentedOperation,
  DocumentReader,
} from './document-reader.ts';
import { fieldList, fieldListMarkdown } from './field-list.ts';
import { type FieldAlternatives, fieldsOf, parameterFields } from './fields.ts';
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
      <h2><a href="#${operation.operationId}">${operation.summary}</a></h2>
      <p class="call">${methodBadge(method)} <code>${brokenPath(path)}</code></p>
      ${renderMarkdown(operation.description)}
      ${inputsOf(reader, operation).map(
        ({ title, media, fields }) =>
          html`<h3>${title}${media !== '' && html` <span class="media">${media}</span>`}</h3>${fieldList(fields)}`,
      )}
      <h3>Responses</h3>
      ${successesOf(reader, operation).map(response)}
      ${problems(reader, operation)}
    </div>
    <div class="code">${requestPanels(reader, panels, placed)}${responsePanels(reader, panels, operation)}</div>
  </section>`;
}

/** The same operation as Markdown, with the request in curl. */
export function operationMarkdown(reader: DocumentReader, placed: DocumentedOperation): string {
  const { method, path, operation } = placed;
  const [curl] = samplesOf(placed, reader.baseUrl, requestExamples(operation)[0]?.value);
  const parts = [
    `## ${operation.summary}`,
    `\`${method} ${path}\``,
    operation.description ?? '',
    ...inputsOf(reader, operation).map(
      ({ title, media, fields }) =>
        `### ${title}${media === '' ? '' : ` (${media})`}\n\n${fieldListMarkdown(fields)}`,
    ),
    '### Request',
    fenced('sh', curl?.code ?? ''),
    ...successesOf(reader, operation).flatMap(({ status, description, fields, example }) => [
      `### Response ${status}`,
      description,
      fieldListMarkdown(fields),
      example === undefined ? '' : fenced('json', JSON.stringify(example, null, 2)),
    ]),
    problemsMarkdown(reader, operation),
  ];
  return `${parts
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .join('\n\n')}\n`;
}

export function fenced(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``;
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

interface Input {
  title: string;
  /** What the body is, if there is one. */
  media: string;
  fields: FieldAlternatives;
}

function inputsOf(reader: DocumentReader, { parameters = [], requestBody }: ApiOperation): Input[] {
  const inputs: Input[] = LOCATIONS.map(([location, title]) => {
    const matching = parameters.filter((one) => one.in === location);
    const fields = matching.length > 0 ? [parameterFields(reader, matching)] : [];
    return { title, media: '', fields };
  }).filter(({ fields }) => fields.length > 0);
  const types = Object.keys(requestBody?.content ?? {});
  const [media] = Object.values(requestBody?.content ?? {});
  if (media) {
    const name = types[0] === 'application/json' ? 'JSON' : types.join(', ');
    inputs.push({ title: 'Body', media: name, fields: fieldsOf(reader, media.schema, 'request') });
  }
  return inputs;
}

interface Success {
  status: string;
  description: string;
  /** The media type; undefined without a body. */
  type: string | undefined;
  headers: readonly { name: string; description: string }[];
  fields: FieldAlternatives;
  example: unknown;
}

/** Headers that every response has are explained once in the introduction. */
const EVERYWHERE = new Set(['X-Request-Id', 'RateLimit', 'RateLimit-Policy']);

function successesOf(reader: DocumentReader, { responses }: ApiOperation): Success[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith('2'))
    .map(([status, given]) => {
      const found = reader.response(given);
      const [entry] = Object.entries(found.content ?? {});
      const [type, media] = (entry ?? []) as [string?, ApiMedia?];
      return {
        status,
        description: found.description,
        type,
        headers: Object.entries(found.headers ?? {})
          .filter(([name]) => !EVERYWHERE.has(name))
          .map(([name, header]) => ({ name, description: header.description ?? '' })),
        fields: media ? fieldsOf(reader, media.schema, 'response') : [],
        example: isEmpty(media?.example) ? undefined : media?.example,
      };
    });
}

function isEmpty(example: unknown): boolean {
  return typeof example === 'object' && example !== null && Object.keys(example).length === 0;
}

function response({ status, description, type, headers, fields }: Success): Html {
  const isShown = type !== undefined && type !== 'application/json';
  return html`<div class="response">
    <p><span class="status good">${status}</span> ${renderInline(description)}${isShown && html` <span class="media">${type}</span>`}</p>
    ${headers.map((header) => html`<p class="header"><code>${header.name}</code> ${renderInline(header.description)}</p>`)}
    ${fields.length > 0 && html`<details><summary>Fields</summary>${fieldList(fields)}</details>`}
  </div>`;
}

function problemsOf(reader: DocumentReader, operation: ApiOperation) {
  return reader.problems(operation).flatMap(({ status, codes }) =>
    codes.map((code) => ({
      status,
      code,
      title: PROBLEMS[code as ProblemCode]?.title ?? '',
    })),
  );
}

function problems(reader: DocumentReader, operation: ApiOperation): Html {
  const rows = problemsOf(reader, operation).map(
    ({ status, code, title }) => html`<tr>
        <td><span class="status bad">${status}</span></td>
        <td><a href="${errorPath(code)}"><code>${brokenCode(code)}</code></a></td>
        <td>${title}</td>
      </tr>`,
  );
  return html`<details class="problems"><summary>Errors <span class="count">${rows.length}</span></summary>
    <table><tbody>${rows}</tbody></table></details>`;
}

function problemsMarkdown(reader: DocumentReader, operation: ApiOperation): string {
  const rows = problemsOf(reader, operation).map(
    ({ status, code, title }) => `| ${status} | [\`${code}\`](${errorPath(code)}.md) | ${title} |`,
  );
  return `### Errors\n\n| Status | Code | Meaning |\n|---|---|---|\n${rows.join('\n')}`;
}

function requestExamples({ requestBody }: ApiOperation): { summary?: string; value?: unknown }[] {
  return Object.values(requestBody?.content['application/json']?.examples ?? {});
}

/** The first example in every language, and the bodies of the others. */
function requestPanels(
  reader: DocumentReader,
  panels: CodePanels,
  placed: DocumentedOperation,
): Html {
  const [first, ...others] = requestExamples(placed.operation);
  const samples = samplesOf(placed, reader.baseUrl, first?.value);
  return html`${panels.panel(first?.summary ?? 'Request', samples, 'language')}${others.map(
    ({ summary, value }) =>
      panels.panel(summary ?? 'Request', [
        { name: 'Body', language: 'json', code: JSON.stringify(value, null, 2) },
      ]),
  )}`;
}

function responsePanels(reader: DocumentReader, panels: CodePanels, operation: ApiOperation): Html {
  return html`${successesOf(reader, operation)
    .filter(({ example }) => example !== undefined)
    .map(({ status, example }) =>
      panels.panel(`Response ${status}`, [
        { name: status, language: 'json', code: JSON.stringify(example, null, 2) },
      ]),
    )}`;
}
