import type { CodePanels } from './code-panel.ts';
import type { ApiOperation, DocumentReader } from './document-reader.ts';
import { fieldList } from './field-list.ts';
import { type Html, html } from './html.ts';
import { renderMarkdown } from './markdown.ts';

/** Every event type with its data. */
export function eventsSection(reader: DocumentReader, panels: CodePanels): Html {
  const events = reader.events();
  return html`<section class="group" id="event-types">
    <h2><a href="#event-types">Event types</a></h2>
    <p class="lead">Each event has an <code>id</code>, a <code>type</code>, the
      <code>mode</code>, a time, and <code>data</code> that depends on the type. New types and fields may be added: ignore those that you do not know.</p>
  </section>
  ${events.map(({ type, operation }) => event(reader, panels, type, operation))}`;
}

export function eventAnchor(type: string): string {
  return `event-${type.replaceAll(/[._]/g, '-')}`;
}

function event(
  reader: DocumentReader,
  panels: CodePanels,
  type: string,
  operation: ApiOperation,
): Html {
  const media = operation.requestBody?.content['application/json'];
  const data = media && reader.schema(media.schema).schema.properties?.data;
  return html`<section class="operation event" id="${eventAnchor(type)}">
    <div class="text">
      <h3><a href="#${eventAnchor(type)}"><code>${type}</code></a></h3>
      ${renderMarkdown(operation.description)}
      ${data && html`<details><summary>Fields of <code>data</code></summary>${fieldList(reader, data, 'response')}</details>`}
    </div>
    <div class="code">${
      media?.example !== undefined &&
      html`<details class="folded"><summary>Example</summary>${panels.panel(type, [
        { name: 'JSON', language: 'json', code: JSON.stringify(media.example, null, 2) },
      ])}</details>`
    }</div>
  </section>`;
}
