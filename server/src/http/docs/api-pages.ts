import { CodePanels } from './code-panel.ts';
import type { DocsPage } from './docs-page.ts';
import { DOCS, eventAnchor, resourcePath } from './docs-paths.ts';
import type { ApiOperation, DocumentedOperation, DocumentReader } from './document-reader.ts';
import { fieldList, fieldListMarkdown } from './field-list.ts';
import { fieldsOf } from './fields.ts';
import { type Html, html } from './html.ts';
import { renderMarkdown } from './markdown.ts';
import { fenced, methodBadge, operationMarkdown, operationSection } from './operation-section.ts';

/** The API reference: a page for each resource, and one for the event types. */
export function apiPages(reader: DocumentReader): DocsPage[] {
  return [...reader.groups().map((group) => resourcePage(reader, group)), eventsPage(reader)];
}

interface ResourceGroup {
  name: string;
  description: string;
  operations: readonly DocumentedOperation[];
}

function resourcePage(reader: DocumentReader, group: ResourceGroup): DocsPage {
  const { name, description, operations } = group;
  return {
    path: resourcePath(name),
    title: name,
    summary: description,
    sections: () =>
      operations.map(({ method, operation }) => ({
        id: operation.operationId,
        label: html`${operation.summary} ${methodBadge(method)}`,
      })),
    main: () => {
      const panels = new CodePanels();
      return html`${top(name, description)}
      ${operations.map((operation) => operationSection(reader, panels, operation))}`;
    },
    markdown: () =>
      [
        `# ${name}\n\n${description}\n`,
        ...operations.map((operation) => operationMarkdown(reader, operation)),
      ].join('\n'),
    passages: () => [
      { id: '', title: name, text: description },
      ...operations.map((operation) => ({
        id: operation.operation.operationId,
        title: operation.operation.summary,
        text: searchText(operationMarkdown(reader, operation)),
      })),
    ],
  };
}

/** Without the tables of errors, which all operations share, and without samples. */
function searchText(markdown: string): string {
  return markdown
    .replace(/^### Errors$[\s\S]*/m, '')
    .replaceAll(/^```[\s\S]*?^```$/gm, '')
    .replaceAll(/[#`*]/g, '');
}

function top(title: string, description: string): Html {
  return html`<header class="top"><h1>${title}</h1><div class="lead">${renderMarkdown(description)}</div></header>`;
}

const EVENTS_TITLE = 'Event types';
const EVENTS_TEXT =
  'Each event has an `id`, a `type`, the `mode`, a time, and `data` that depends on the type. New types and fields may be added: ignore those that you do not know.';

function eventsPage(reader: DocumentReader): DocsPage {
  const events = reader.events();
  return {
    path: `${DOCS}/api/event-types`,
    title: EVENTS_TITLE,
    summary: 'Every event type with its data, as webhooks and the event log contain it.',
    sections: () =>
      events.map(({ type }) => ({ id: eventAnchor(type), label: html`<code>${type}</code>` })),
    main: () => {
      const panels = new CodePanels();
      return html`${top(EVENTS_TITLE, EVENTS_TEXT)}${events.map(({ type, operation }) =>
        eventSection(reader, panels, type, operation),
      )}`;
    },
    markdown: () =>
      [
        `# ${EVENTS_TITLE}\n\n${EVENTS_TEXT}\n`,
        ...events.map(({ type, operation }) => eventMarkdown(reader, type, operation)),
      ].join('\n'),
    passages: () => [
      { id: '', title: EVENTS_TITLE, text: EVENTS_TEXT },
      ...events.map(({ type, operation }) => ({
        id: eventAnchor(type),
        title: type,
        text: searchText(eventMarkdown(reader, type, operation)),
      })),
    ],
  };
}

function eventContent(reader: DocumentReader, { requestBody }: ApiOperation) {
  const media = requestBody?.content['application/json'];
  const data = media && reader.schema(media.schema).schema.properties?.data;
  return { fields: data ? fieldsOf(reader, data, 'response') : [], example: media?.example };
}

function eventSection(
  reader: DocumentReader,
  panels: CodePanels,
  type: string,
  operation: ApiOperation,
): Html {
  const { fields, example } = eventContent(reader, operation);
  return html`<section class="operation event" id="${eventAnchor(type)}">
    <div class="text">
      <h2><a href="#${eventAnchor(type)}"><code>${type}</code></a></h2>
      ${renderMarkdown(operation.description)}
      ${fields.length > 0 && html`<details><summary>Fields of <code>data</code></summary>${fieldList(fields)}</details>`}
    </div>
    <div class="code">${
      example !== undefined &&
      html`<details class="folded"><summary>Example</summary>${panels.panel(type, [
        { name: 'JSON', language: 'json', code: JSON.stringify(example, null, 2) },
      ])}</details>`
    }</div>
  </section>`;
}

function eventMarkdown(reader: DocumentReader, type: string, operation: ApiOperation): string {
  const { fields, example } = eventContent(reader, operation);
  return [
    `## \`${type}\``,
    operation.description ?? '',
    `Fields of \`data\`:\n\n${fieldListMarkdown(fields)}`,
    example === undefined ? '' : `${fenced('json', JSON.stringify(example, null, 2))}\n`,
  ].join('\n\n');
}
