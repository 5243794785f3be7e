import type { CodePanels } from './code-panel.ts';
import { fieldList } from './field-list.ts';
import { type Html, html } from './html.ts';
import { prose } from './prose.ts';
import type { ApiOperation, Reader } from './reader.ts';

/** Every event type with its data, as the ledger tells it. */
export function eventsSection(reader: Reader, panels: CodePanels): Html {
  const events = reader.events();
  return html`<section class="group" id="event-types">
    <h2><a href="#event-types">Event types</a></h2>
    <p class="lead">What the ledger tells. Each event has an <code>id</code>, a <code>type</code>, the
      <code>mode</code>, a time, and <code>data</code> that depends on the type. New types and fields may be added: leave
      aside what you do not know.</p>
  </section>
  ${events.map(({ type, operation }) => event(reader, panels, type, operation))}`;
}

export function eventAnchor(type: string): string {
  return `event-${type.replaceAll(/[._]/g, '-')}`;
}

function event(reader: Reader, panels: CodePanels, type: string, operation: ApiOperation): Html {
  const media = operation.requestBody?.content['application/json'];
  const data = media && reader.schema(media.schema).schema.properties?.data;
  return html`<section class="operation event" id="${eventAnchor(type)}">
    <div class="words">
      <h3><a href="#${eventAnchor(type)}"><code>${type}</code></a></h3>
      ${prose(operation.description)}
      ${data && html`<details><summary>Fields of <code>data</code></summary>${fieldList(reader, data, 'answer')}</details>`}
    </div>
    <div class="code">${
      media?.example !== undefined &&
      html`<details class="folded"><summary>Example</summary>${panels.panel(type, [
        { name: 'JSON', language: 'json', code: JSON.stringify(media.example, null, 2) },
      ])}</details>`
    }</div>
  </section>`;
}
