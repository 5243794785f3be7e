import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { operatorIssuer } from '../server/src/accounts/api-keys.ts';
import type { Mode } from '../server/src/accounts/tenant-scope.ts';
import { type App, buildApp } from '../server/src/bootstrap/build-app.ts';
import { readConfig } from '../server/src/config/read-config.ts';
import type { Delivery, Transport } from '../server/src/delivery/delivery.ts';
import { simulatorTransport } from '../server/src/delivery/transport/simulator.ts';
import { decodeId, encodeId } from '../server/src/lib/ids.ts';
import { silentLog } from '../server/src/lib/log.ts';
import { type Clock, systemClock } from '../server/src/lib/time/clock.ts';
import { findBrowser } from '../server/test/harness/browser/chromium.ts';
import {
  type Call,
  createSampleData,
  everydayEmail,
  orderEmail,
  type SampleData,
  SENDER_DOMAIN,
} from '../server/test/harness/browser/sample-data.ts';
import { startDnsServer } from '../server/test/harness/smtp/dns-server.ts';
import {
  type ListedRecord,
  publishRecords,
} from '../server/test/harness/smtp/publish-dns-records.ts';
import { buildDashboard } from './build-dashboard.ts';
import { ROOT } from './project-files.ts';

/**
 * `npm run screenshots`: starts a server with a temporary data directory, simulates a week of a
 * shop's email, and saves light and dark screenshots of the main pages to docs/screenshots. Nothing
 * is sent: receiving servers are simulated and DNS is scripted. `-- --review FOLDER` saves every page
 * there instead, filled and empty, in both themes and at three widths, to be looked at.
 */

const FOLDER = path.join(ROOT, 'docs/screenshots');
const OWNER = { name: 'Rosa Fern', email: 'rosa@fernhill.example', password: 'tulip freight oboe' };
const WINDOW = { width: 1200, height: 750, scale: 1.5 };
/** The windows of a desktop, a tablet and a phone. */
const REVIEWED_WINDOWS = [
  { width: 1440, height: 900, scale: 1 },
  { width: 1024, height: 768, scale: 1 },
  { width: 390, height: 844, scale: 1 },
];
const QUALITY = 82;
const HOUR_MS = 3_600_000;
const DAYS = 7;
const STEP_HOURS = 4;
/** The interval in the last hours, which the message list shows in detail. */
const STEP_MS = 11 * 60_000;

interface Screenshot {
  name: string;
  mode: Mode;
  path: (shop: SampleIds) => string;
  /** Resolves when the page is ready for the screenshot. */
  ready: (page: Page) => Promise<unknown>;
}

interface SampleIds {
  live: SampleData;
  test: SampleData;
  domainId: string;
  ownerId: string;
}

const SCREENSHOTS: Screenshot[] = [
  {
    name: 'overview',
    mode: 'live',
    path: () => '/app?range=week',
    ready: (page) => page.getByRole('heading', { name: 'Overview', exact: true }).waitFor(),
  },
  {
    name: 'bounce',
    mode: 'live',
    path: ({ live }) => `/app/messages/${live.bouncedId}`,
    ready: (page) => page.getByRole('alert').waitFor(),
  },
  {
    name: 'template',
    mode: 'live',
    path: () => '/app/templates/template/order-shipped',
    ready: (page) => emailPreview(page).getByText('Your order has shipped').waitFor(),
  },
  {
    name: 'test-inbox',
    mode: 'test',
    path: ({ test }) => `/app/test-inbox?id=${test.deliveredId}`,
    ready: (page) => emailPreview(page).getByText('Your order has shipped').waitFor(),
  },
  {
    name: 'domain',
    mode: 'live',
    path: ({ domainId }) => `/app/domains/${domainId}`,
    ready: (page) => page.getByText('DNS records').waitFor(),
  },
];

/** Every page, for a review. */
const PAGES: Record<string, (shop: SampleIds) => string> = {
  overview: () => '/app',
  messages: () => '/app/messages',
  message: ({ live }) => `/app/messages/${live.bouncedId}`,
  inbound: () => '/app/inbound',
  'test-inbox': () => '/app/test-inbox',
  templates: () => '/app/templates',
  template: () => '/app/templates/template/order-shipped',
  contacts: () => '/app/contacts',
  domains: () => '/app/domains',
  domain: ({ domainId }) => `/app/domains/${domainId}`,
  streams: () => '/app/streams',
  suppressions: () => '/app/suppressions',
  'api-keys': () => '/app/api-keys',
  'new-api-key': () => '/app/api-keys?new=true',
  webhooks: () => '/app/webhooks',
  events: () => '/app/events',
  requests: () => '/app/requests',
  'audit-log': () => '/app/audit-log',
  team: () => '/app/team',
  settings: () => '/app/settings',
};

async function takeScreenshots(reviewFolder: string | undefined): Promise<void> {
  const found = await findBrowser();
  if (!found) throw new Error('Chromium not found: install it or set CHROMIUM_PATH.');
  await buildDashboard();
  await using undo = new AsyncDisposableStack();
  const dataDir = mkdtempSync(path.join(tmpdir(), 'postrider-screenshots-'));
  undo.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const dns = undo.use(await startDnsServer());
  const clock = new ShiftedClock(-DAYS * 24 * HOUR_MS);
  const app = await buildApp({
    config: readConfig({
      PORT: '0',
      SUBMISSION_PORT: 'off',
      RETURN_PATH_PORT: 'off',
      DATA_DIR: dataDir,
      BASE_URL: 'http://localhost',
      DNS_SERVERS: dns.address,
      DELIVERY_THREAD: 'off',
      RATE_LIMIT_PER_SECOND: '100000',
      SPF_MECHANISM: 'include:spf.postrider.example',
      HELO_NAME: 'mail.postrider.example',
    }),
    log: silentLog,
    clock,
    overrides: {
      delivery: { liveTransport: () => withOccasionalBounces(simulatorTransport(clock)) },
    },
  });
  undo.defer(() => app.stop());
  const shop = await simulateWeek(app, clock, dns);
  const browser = await chromium.launch(found);
  undo.defer(() => browser.close());
  if (reviewFolder !== undefined) {
    await takeAll(browser, app, shop, path.resolve(reviewFolder));
    return;
  }
  mkdirSync(FOLDER, { recursive: true });
  for (const theme of ['light', 'dark'] as const) {
    for (const mode of ['live', 'test'] as const) {
      await using window = await windowOf(browser, app, theme, mode);
      for (const picture of SCREENSHOTS.filter((one) => one.mode === mode)) {
        await take(window.page, picture, shop, theme);
      }
    }
  }
}

/** Every page, of the filled workspace and of a new one. */
async function takeAll(browser: Browser, app: App, shop: SampleIds, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const empty = await app.workspaces.createIfNameIsFree('Empty', shop.ownerId);
  for (const size of REVIEWED_WINDOWS) {
    for (const theme of ['light', 'dark'] as const) {
      for (const workspaceId of [undefined, empty?.id]) {
        await using window = await windowOf(browser, app, theme, 'live', { size, workspaceId });
        for (const [name, pathOf] of Object.entries(PAGES)) {
          await window.page.goto(pathOf(shop));
          await window.page.getByRole('main').waitFor();
          await window.page.locator('.skeleton').first().waitFor({ state: 'detached' });
          const state = workspaceId === undefined ? 'filled' : 'empty';
          const file = `${name}-${state}-${size.width}-${theme}.png`;
          await window.page.screenshot({ path: path.join(folder, file) });
        }
      }
    }
  }
}

/** The system clock with an offset; timers are not affected. */
class ShiftedClock implements Clock {
  shiftMs: number;
  constructor(shiftMs: number) {
    this.shiftMs = shiftMs;
  }
  now(): number {
    return systemClock.now() + this.shiftMs;
  }
  after = systemClock.after;
}

async function simulateWeek(
  app: App,
  clock: ShiftedClock,
  dns: Awaited<ReturnType<typeof startDnsServer>>,
): Promise<SampleIds> {
  const setup = await callApi(app, 'POST', '/setup', {}, { ...OWNER, workspace_name: 'Fernhill' });
  if (setup.status !== 201) throw new Error(`Setup returned ${setup.status}.`);
  const workspace = await app.workspaces.first();
  if (!workspace) throw new Error('No workspace.');
  await app.domains.trust(workspace.id, { name: SENDER_DOMAIN });
  const live = await keyed(app, workspace.id, 'live');
  const test = await keyed(app, workspace.id, 'test');
  const liveShop = await createSampleData(live);
  let order = 2000;
  const sendAndAdvance = async (count: number, ms: number): Promise<void> => {
    const messages = Array.from({ length: count }, () => {
      order += 1;
      return everydayEmail(addressOf(order), order);
    });
    await live('POST', '/transactional/batch', { messages });
    await waitUntilSent(live);
    clock.shiftMs += ms;
  };
  for (let hour = 0; hour < DAYS * 24 - STEP_HOURS; hour += STEP_HOURS) {
    await sendAndAdvance(ordersAt(hour), STEP_HOURS * HOUR_MS);
  }
  while (clock.shiftMs < -STEP_MS) await sendAndAdvance(1, STEP_MS);
  clock.shiftMs = 0;
  const bounced = await live('POST', '/transactional/send', orderEmail('typo@example.com', 3001));
  const testShop = await createSampleData(test);
  const domain = await live('POST', '/domains', { name: 'fernhill.shop' });
  const records = domain.json.records as ListedRecord[];
  publishRecords(
    dns,
    records.filter(({ purpose }) => purpose !== 'return_path'),
  );
  await live('POST', `/domains/${domain.json.id}/verify`);
  await waitUntilSent(live);
  await waitUntilSent(test);
  return {
    live: { ...liveShop, bouncedId: bounced.json.id },
    test: testShop,
    domainId: domain.json.id,
    ownerId: decodeId('usr', (setup.json.me as { id: string }).id) as string,
  };
}

const NAMES = ['ada', 'emil', 'noor', 'sofia', 'kenji', 'lena', 'tom', 'ines', 'yusuf', 'maja'];
const SURNAMES = ['berger', 'haddad', 'prieto', 'mori', 'byron', 'kaya', 'lindt', 'okafor'];
const HOSTS = ['example.com', 'example.org', 'example.net', 'mail.example', 'post.example'];

function addressOf(order: number): string {
  const of = (parts: string[], every: number) => parts[Math.floor(order / every) % parts.length];
  return `${of(NAMES, 1)}.${of(SURNAMES, NAMES.length)}@${of(HOSTS, 3)}`;
}

/** More orders during the day than at night. */
function ordersAt(hour: number): number {
  const ofDay = hour % 24;
  const day = Math.floor(hour / 24);
  const wave = Math.max(0, Math.sin(((ofDay - 5) / 16) * Math.PI));
  return 2 + Math.round(wave * (18 + 4 * day));
}

/** Makes some messages bounce and some mailboxes full. */
function withOccasionalBounces(route: Transport): Transport {
  const partOf = ({ recipient, message }: Delivery): string => {
    const order = Number(message.metadata.order_id);
    if (recipient.startsWith('typo@') || order % 61 === 0) return 'bounced';
    return order % 53 === 0 ? 'mailbox-full' : 'delivered';
  };
  return {
    ...route,
    async attempt(message, deliveries, mayTransmit, limit) {
      const played = deliveries.map((delivery) => ({
        ...delivery,
        recipientKey: `${partOf(delivery)}@simulator.test`,
      }));
      const reports = await route.attempt(message, played, mayTransmit, limit);
      return reports.map((report, index) => ({
        ...report,
        smtp: report.smtp && { ...report.smtp, mx: `mx1.${deliveries[index]?.domain}` },
      }));
    },
  };
}

async function keyed(app: App, workspaceId: string, mode: Mode): Promise<Call> {
  const { token } = await app.apiKeys.create(operatorIssuer(workspaceId), { name: 'Deploy', mode });
  return (method, where, body) =>
    callApi(app, method, where, { authorization: `Bearer ${token}` }, body);
}

async function callApi(
  app: App,
  method: string,
  where: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<Awaited<ReturnType<Call>> & { headers: Headers }> {
  const response = await fetch(`${app.address}/api/v1${where}`, {
    method,
    headers: {
      'postrider-mode': 'live',
      ...headers,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: text === '' ? { id: '' } : JSON.parse(text),
  };
}

async function waitUntilSent(call: Call): Promise<void> {
  for (;;) {
    const { json } = await call('GET', '/messages?status=queued&limit=1');
    if ((json.data as unknown[]).length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function windowOf(
  browser: Browser,
  app: App,
  theme: 'light' | 'dark',
  mode: Mode,
  { size = WINDOW, workspaceId }: { size?: typeof WINDOW; workspaceId?: string | undefined } = {},
): Promise<AsyncDisposable & { page: Page }> {
  const stored: { name: string; value: string }[] = [{ name: 'postrider.mode', value: mode }];
  if (workspaceId !== undefined)
    stored.push({ name: 'postrider.workspace', value: encodeId('wsp', workspaceId) });
  const context: BrowserContext = await browser.newContext({
    baseURL: app.address,
    viewport: size,
    deviceScaleFactor: size.scale,
    colorScheme: theme,
    reducedMotion: 'reduce',
    storageState: {
      cookies: [],
      origins: [{ origin: app.address, localStorage: stored }],
    },
  });
  const { email, password } = OWNER;
  const signedIn = await callApi(app, 'POST', '/session', {}, { email, password });
  const [pair = ''] = signedIn.headers.getSetCookie()[0]?.split('; ') ?? [];
  const [name = '', value = ''] = pair.split('=', 2);
  await context.addCookies([{ name, value, url: app.address, httpOnly: true, sameSite: 'Strict' }]);
  return { page: await context.newPage(), [Symbol.asyncDispose]: () => context.close() };
}

async function take(
  page: Page,
  picture: Screenshot,
  shop: SampleIds,
  theme: string,
): Promise<void> {
  await page.goto(picture.path(shop));
  await picture.ready(page);
  await page.locator('.skeleton').first().waitFor({ state: 'detached' });
  await page.waitForLoadState('load');
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', {
    format: 'webp',
    quality: QUALITY,
  });
  const file = path.join(FOLDER, `${picture.name}-${theme}.webp`);
  writeFileSync(file, Buffer.from(data, 'base64'));
  console.log(`${path.relative(ROOT, file)}: ${Math.round((data.length * 3) / 4000)} KB`);
}

function emailPreview(page: Page) {
  return page.frameLocator('iframe[title="Email preview"]');
}

const [option, folder] = process.argv.slice(2);
await takeScreenshots(option === '--review' ? (folder ?? 'screenshots') : undefined);
