import { createHash } from 'node:crypto';

/**
 * The page inside the preview frame, which shows the HTML of an email: untrusted content. The
 * page has an opaque origin (sandbox), no cookies, no network access, and a single script that
 * is allowed by its hash. The dashboard posts the HTML to it. The script removes everything that
 * could load or navigate, shows the rest, reports its height, and posts clicked links back
 * instead of following them. The policy still blocks anything that the removal misses.
 */

const SCRIPT = `
const DROPPED = 'script,meta,base,link,iframe,frame,frameset,object,embed,portal,template,noscript';
const report = (message) => parent.postMessage({ postrider: 'preview', ...message }, '*');
const measure = () => report({ height: document.documentElement.getBoundingClientRect().height });
addEventListener('message', (event) => {
  if (event.source !== parent || typeof event.data?.html !== 'string') return;
  const mail = new DOMParser().parseFromString(event.data.html, 'text/html');
  const styles = [...mail.querySelectorAll('style')].map((style) => style.textContent).join();
  const designed = /color-scheme/.test(styles) || mail.querySelector('meta[name$=color-scheme],meta[name$=color-schemes]');
  for (const node of mail.querySelectorAll(DROPPED)) node.remove();
  for (const node of mail.querySelectorAll('*')) {
    for (const name of node.getAttributeNames()) {
      if (/^on|^(ping|formaction|srcdoc)$/i.test(name)) node.removeAttribute(name);
    }
  }
  const blocked = new Set();
  for (const image of mail.querySelectorAll('img[src],[background]')) {
    const source = image.getAttribute('src') ?? image.getAttribute('background');
    if (/^(https?:)?\\/\\//i.test(source)) blocked.add(source);
    const inline = /^cid:(.+)$/i.exec(source)?.[1];
    const data = inline && event.data.inline?.[inline];
    if (data) image.setAttribute('src', data);
  }
  for (const old of document.head.querySelectorAll('style:not([data-own])')) old.remove();
  document.head.append(...mail.head.querySelectorAll('style'));
  document.documentElement.dataset.scheme = !event.data.dark ? 'light' : designed ? 'dark' : 'recolored';
  for (const name of document.body.getAttributeNames()) document.body.removeAttribute(name);
  for (const { name, value } of mail.body.attributes) document.body.setAttribute(name, value);
  document.body.replaceChildren(...mail.body.childNodes);
  report({ remote: blocked.size });
  measure();
});
addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href],area[href]');
  event.preventDefault();
  if (link) report({ link: link.getAttribute('href') });
}, true);
addEventListener('submit', (event) => event.preventDefault(), true);
new ResizeObserver(measure).observe(document.documentElement);
addEventListener('load', measure, true);
report({ ready: true });
`;

/**
 * In dark mode, mail that declares a color scheme is shown on a dark page. Clients such as Gmail and
 * Outlook recolor other mail; inverting it shows what remains readable.
 */
const STYLE =
  '<style data-own>:root{color-scheme:light}:root[data-scheme=dark]{background:#121212;color:#eee;color-scheme:dark}' +
  ':root[data-scheme=recolored]{background:#ededed;filter:invert(1) hue-rotate(180deg)}' +
  ':root[data-scheme=recolored] :is(img,[background]){filter:invert(1) hue-rotate(180deg)}' +
  'body{margin:16px;font-family:-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;overflow-wrap:anywhere}img{max-width:100%}</style>';

const PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Preview</title>${STYLE}</head><body><script>${SCRIPT}</script></body></html>`;

const HASH = createHash('sha256').update(SCRIPT).digest('base64');

function policy(images: string): string {
  return [
    "default-src 'none'",
    `script-src 'sha256-${HASH}'`,
    "style-src 'unsafe-inline'",
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    'sandbox allow-scripts',
  ].join('; ');
}

/** Policies by the last segment of the path. Remote images load only on request. */
export const PREVIEW_POLICIES: Record<string, string> = {
  closed: policy('data:'),
  'with-images': policy('data: https: http:'),
};

export function previewPage(): string {
  return PAGE;
}
