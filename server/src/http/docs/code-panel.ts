import { highlight, type Language } from './highlight.ts';
import { type Html, html } from './html.ts';

/**
 * A panel of code. Several texts become tabs made of radio buttons, which work without a script;
 * the script only makes all panels follow the same choice.
 */

export interface PanelText {
  name: string;
  language: Language;
  code: string;
}

export class CodePanels {
  #count = 0;

  panel(title: string, texts: readonly PanelText[], group?: string): Html {
    this.#count += 1;
    const name = `panel-${this.#count}`;
    const several = texts.length > 1;
    return html`<figure class="panel"${group !== undefined && html` data-group="${group}"`}>
      ${several && texts.map(({ name: label }, index) => html`<input type="radio" name="${name}" id="${name}-${index}" value="${label}"${index === 0 && html` checked`}>`)}
      <figcaption><span class="panel-title">${title}</span>${
        several &&
        html`<span class="panel-tabs">${texts.map(({ name: label }, index) => html`<label for="${name}-${index}">${label}</label>`)}</span>`
      }</figcaption>
      <div class="panel-texts">${texts.map(({ language, code }) => html`<pre tabindex="0"><code>${highlight(language, code)}</code></pre>`)}</div>
    </figure>`;
  }
}
