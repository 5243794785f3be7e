import { CompiledTemplate } from '../../server/src/templates/compile-template.ts';
import { EMPTY_CONTENT } from '../../server/src/templates/content/stored-content.ts';
import { RenderBudget } from '../../server/src/templates/template-engine.ts';
import { httpLoad, type LoadResult, postRequest } from './http-load.ts';
import type { Report } from './results.ts';
import { SENDER_DOMAIN } from './sample-message.ts';
import { startTarget, type Target } from './start-target.ts';

/**
 * The cost of templates: sends from a stored template (a layout, a partial, a loop of five lines,
 * contact fields; about 10 KB of HTML) compared with inline sends of the same rendered HTML,
 * alternating against one server; renders alone; and how a render grows with its loop. Only the
 * ratios are meaningful.
 */

const CONNECTIONS = 64;
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3);
const DURATION_MS = Number(process.env.BENCH_SECONDS ?? 5) * 1000;
const CONTACTS = 200;
const SEND = '/api/v1/transactional/send';

const PADDING = Array.from(
  { length: 62 },
  (_, n) =>
    `<tr><td class="cell" style="padding:8px 0;color:#333333">Line ${n} of what every receipt says, in small print that no one reads</td></tr>\n`,
).join('');

const LAYOUT = `<!doctype html><html><head><style>.cell{font-size:12px} @media (max-width:600px){.cell{font-size:14px}}</style></head><body><div style="display:none">Your receipt</div><table>\n{{ content }}\n${PADDING}</table>{% render "footer" %}</body></html>`;

const TEMPLATE = {
  key: 'receipt',
  subject: 'Your order ${order.id}, {{ contact.first_name | default: "friend" }}',
  layout: 'main',
  html: `<tr><td><h1>Thank you, {{ contact.first_name | default: "friend" }}</h1><p>Order {{ order.id }} of {{ order.date | date: "long" }} goes to {{ contact.address.city | default: "you" }}.</p></td></tr>
{% for line in order.lines %}<tr><td class="cell"><b>{{ line.name }}</b> {{ line.quantity }} × {{ line.price | money: "EUR" }}</td></tr>
{% endfor %}<tr><td>Total {{ order.total | money: "EUR" }} <a href="{{ order.link }}">See it</a></td></tr>`,
};

const FOOTER = '<p class="cell">{{ company | default: "Example Ltd." }}, 1 High Street</p>';

function orderOf(n: number, lines: number) {
  return {
    id: `A-${n}`,
    date: '2026-11-15T09:30:00Z',
    link: `https://example.com/orders/${n}`,
    total: 62.5,
    lines: Array.from({ length: lines }, (_, line) => ({
      name: `Coffee beans ${line}`,
      quantity: line + 1,
      price: '12.50',
    })),
  };
}

export async function benchTemplates(report: Report): Promise<void> {
  await compareSends(report);
  measureRenders(report);
}

async function compareSends(report: Report): Promise<void> {
  await using target = await startTarget('grouped', { env: { ROLES: 'api', BENCH_MODE: 'live' } });
  const call = caller(target);
  await call('POST', '/partials', { key: 'footer', html: FOOTER });
  await call('POST', '/partials/footer/publish', {});
  await call('POST', '/layouts', { key: 'main', html: LAYOUT });
  await call('POST', '/layouts/main/publish', {});
  await call('POST', '/templates', TEMPLATE);
  await call('POST', '/templates/receipt/publish', {});
  for (let n = 0; n < CONTACTS; n++) {
    const attributes = { address: { city: 'Vienna' } };
    await call('PUT', `/contacts/c${n}@example.com`, { first_name: `Jane ${n}`, attributes });
  }
  const envelope = (n: number) => ({
    to: { email: `c${n % CONTACTS}@example.com` },
    from: { email: `shop@${SENDER_DOMAIN}` },
  });
  const fromTemplate = (n: number) =>
    JSON.stringify({
      ...envelope(n),
      template_key: 'receipt',
      template_variables: { order: orderOf(n, 5) },
    });
  const { subject, html } = (await call(
    'POST',
    '/transactional/dry-run',
    JSON.parse(fromTemplate(1)) as object,
  )) as { subject: string; html: string };
  const inline = (n: number) => JSON.stringify({ ...envelope(n), subject, html });
  const kinds = { template: fromTemplate, inline };
  const best = new Map<string, LoadResult>();
  for (let round = 0; round < ROUNDS; round++) {
    for (const [kind, body] of Object.entries(kinds)) {
      const result = await httpLoad({
        port: target.port,
        connections: CONNECTIONS,
        durationMs: DURATION_MS,
        warmUpMs: 1_500,
        request: (n) => postRequest(SEND, target.key, body(n)),
      });
      if (result.perSecond > (best.get(kind)?.perSecond ?? 0)) best.set(kind, result);
    }
  }
  for (const [kind, { perSecond, p50Ms, p99Ms, failures }] of best) {
    const failed = Object.keys(failures).length > 0 ? `failures ${JSON.stringify(failures)}` : '';
    const figures = { 'sends/s': perSecond, 'p50 ms': p50Ms, 'p99 ms': p99Ms };
    report(`${kind}, ${html.length} bytes of HTML`, figures, failed);
  }
  const rate = (kind: string): number => best.get(kind)?.perSecond ?? 0;
  report('template / inline', { times: rate('template') / rate('inline') });
}

function caller(target: Target) {
  return async (method: string, path: string, body: object): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${target.port}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${target.key}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`);
    return response.json();
  };
}

/** Rendering only, on one core. */
function measureRenders(report: Report): void {
  const template = new CompiledTemplate({
    key: 'receipt',
    version: 1,
    template: { ...EMPTY_CONTENT, ...TEMPLATE },
    layout: { key: 'main', content: { ...EMPTY_CONTENT, html: LAYOUT } },
    partials: new Map([['footer', { ...EMPTY_CONTENT, html: FOOTER }]]),
  });
  const variant = template.inLocale('en');
  const contact = { email: 'c@example.com', first_name: 'Jane', address: { city: 'Vienna' } };
  const renderMs = (lines: number, forMs: number): number => {
    const scope = { order: orderOf(1, lines), contact, message: {} };
    const once = () => variant.render(scope, { budget: new RenderBudget(), locale: 'en' });
    for (let i = 0; i < 50; i++) once();
    const startedAt = performance.now();
    let count = 0;
    while (performance.now() - startedAt < forMs) {
      once();
      count += 1;
    }
    return (performance.now() - startedAt) / count;
  };
  report('renders with 5 lines', { 'renders/s': 1000 / renderMs(5, 2_000) });
  const base = renderMs(0, 500);
  for (const lines of [10, 100, 1_000, 10_000]) {
    const ms = renderMs(lines, 1_000);
    const perLineUs = ((ms - base) / lines) * 1000;
    report(`a render with ${lines} lines`, { ms, 'line µs': perLineUs });
  }
}
