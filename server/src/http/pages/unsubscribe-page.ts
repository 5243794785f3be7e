import type { StreamSubscription, SubscriptionView } from '../../unsubscribe/unsubscribes.ts';
import { type Html, html, trusted } from '../docs/html.ts';
import type { UnsubscribeTexts } from './unsubscribe-texts.ts';

/** The page where recipients unsubscribe: one file without scripts, in their language. */

export interface PageOptions {
  language: string;
  texts: UnsubscribeTexts;
}

/** What the form that was just submitted has done, if any. */
export type PageAction = 'unsubscribe' | 'resubscribe' | 'choose';

export function subscriptionPage(
  view: SubscriptionView,
  { language, texts }: PageOptions,
  action?: PageAction,
): string {
  const fill = (text: string): Html[] => filled(text, view);
  const logo =
    view.logoUrl && html`<img src="${view.logoUrl}" alt="" referrerpolicy="no-referrer">`;
  const heading = (statusOf(view, texts, action) ?? texts.title).replace(/\.$/, '');
  const body = [
    html`<header>${logo}<p dir="auto">${view.senderName}</p></header><h1>${fill(heading)}</h1>`,
    ownStream(view, texts, fill, action),
    view.others.length > 0 && otherStreams(view.others, texts, fill, action),
  ];
  const title = action === 'choose' ? texts.saved : plain(heading, view);
  return frame({ language, title: `${title} · ${view.senderName}`, color: view.color, body });
}

export function invalidLinkPage({ language, texts }: PageOptions): string {
  const body = [html`<h1>${texts.title}</h1><p>${texts.invalid}</p>`];
  return frame({ language, title: texts.title, color: null, body });
}

/**
 * What the recipient receives now, as the heading and the title of the page: a screen reader reads
 * both after a form was submitted. Undefined before anything was done.
 */
function statusOf(
  { stream }: SubscriptionView,
  texts: UnsubscribeTexts,
  action: PageAction | undefined,
): string | undefined {
  if (stream.state === 'blocked') return texts.blocked;
  if (stream.state === 'unsubscribed') return texts.done;
  return action === 'resubscribe' ? texts.back : undefined;
}

type Fill = (text: string) => Html[];

/** The stream of the message that the link is in. */
function ownStream(
  { stream }: SubscriptionView,
  texts: UnsubscribeTexts,
  fill: Fill,
  action: PageAction | undefined,
): Html | false {
  switch (stream.state) {
    case 'blocked':
      return false;
    case 'unsubscribed':
      return html`<form method="post"><p class="soft">${texts.undo}</p>
<button class="plain" name="action" value="resubscribe">${texts.resubscribe}</button></form>`;
    case 'subscribed':
      return html`${action !== 'resubscribe' && html`<p>${fill(texts.question)}</p>`}
<form method="post"><button class="main" name="action" value="unsubscribe">${texts.unsubscribe}</button></form>`;
  }
}

/** Only what the page has shown is changed, so it names these streams. */
function otherStreams(
  others: readonly StreamSubscription[],
  texts: UnsubscribeTexts,
  fill: Fill,
  action: PageAction | undefined,
): Html {
  const boxes = others.map(({ key, name, state }) => {
    const checked = state === 'subscribed' && trusted(' checked');
    const isFixed = state === 'blocked';
    return html`<li><label><input type="checkbox" name="chosen" value="${key}"${checked}${
      isFixed && trusted(' disabled')
    }><bdi>${name}</bdi></label>${
      isFixed ? '' : html`<input type="hidden" name="shown" value="${key}">`
    }</li>`;
  });
  return html`<form class="others" method="post"><fieldset><legend>${fill(texts.others)}</legend><ul>${boxes}</ul></fieldset>
${action === 'choose' && html`<p role="status">${texts.saved}</p>`}
<button class="plain" name="action" value="choose">${texts.save}</button></form>`;
}

function filled(text: string, { stream, senderName }: SubscriptionView): Html[] {
  return text.split(/(\{stream\}|\{sender\})/).map((part) => {
    if (part === '{stream}') return html`<strong><bdi>${stream.name}</bdi></strong>`;
    return part === '{sender}' ? html`<bdi>${senderName}</bdi>` : html`${part}`;
  });
}

function plain(text: string, { stream, senderName }: SubscriptionView): string {
  return text.replace('{stream}', () => stream.name).replace('{sender}', () => senderName);
}

const DEFAULT_COLOR = '#1f2937';

function frame(page: {
  language: string;
  title: string;
  color: string | null;
  body: readonly (Html | false)[];
}): string {
  const color = page.color ?? DEFAULT_COLOR;
  return `<!doctype html>${
    html`<html lang="${page.language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${page.title}</title>
<style>${trusted(STYLE)}:root{--main:${trusted(color)};--on-main:${trusted(textOn(color))}}</style></head>
<body><main>${page.body}</main></body></html>`.text
  }`;
}

/** Black or white, whichever is easier to read on the color (WCAG relative luminance). */
function textOn(color: string): string {
  const channel = (at: number): number => {
    const value = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  const luminance = 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
  return luminance > 0.179 ? '#000000' : '#ffffff';
}

const STYLE = `
:root{color-scheme:light dark}
*{box-sizing:border-box}
body{margin:0;font:16px/1.5 system-ui,sans-serif;color:#111827;background:#f3f4f6;overflow-wrap:anywhere}
main{max-width:30rem;margin:10vh auto;padding:2.5rem;background:#fff;border-radius:12px;box-shadow:0 1px 3px rgba(0,0,0,.12)}
header{display:flex;align-items:center;gap:.75rem;font-weight:600;margin:0 0 1.5rem}
header p{margin:0}
header img{max-height:40px;max-width:160px}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .75rem}
p{margin:0 0 1.25rem}
.soft{color:#4b5563;margin:1.5rem 0 .5rem}
.others{margin-top:2rem;padding-top:1.5rem;border-top:1px solid #e5e7eb}
fieldset{border:0;margin:0;padding:0}
legend{padding:0;font-weight:600}
ul{list-style:none;margin:.5rem 0 1.25rem;padding:0}
label{display:flex;gap:.75rem;align-items:baseline;padding:.4rem 0}
input[type=checkbox]{width:1.1rem;height:1.1rem;flex:none;accent-color:#2563eb;translate:0 .15rem}
label:has(:disabled){color:#6b7280}
button{font:inherit;font-weight:500;padding:.65rem 1.25rem;border-radius:8px;border:1px solid transparent;cursor:pointer}
button:focus-visible,input:focus-visible{outline:3px solid #2563eb;outline-offset:2px}
.main{background:var(--main);color:var(--on-main);border-color:rgba(0,0,0,.3)}
.plain{background:#fff;color:#111827;border-color:#9ca3af}
@media (max-width:34rem){main{margin:0;min-height:100vh;padding:2rem 1.5rem;border-radius:0;box-shadow:none}button{width:100%}}
@media (prefers-color-scheme:dark){body{background:#111827;color:#f9fafb}main{background:#1f2937}
.soft,label:has(:disabled){color:#d1d5db}.plain{background:#1f2937;color:#f9fafb}.main{border-color:#6b7280}
.others{border-color:#374151}}
`;
