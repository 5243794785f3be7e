import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { buildDashboard } from '../../../../scripts/build-dashboard.ts';
import type { Person } from '../../../src/accounts/people/person-store.ts';
import { startApp, type TestApp, type TestAppOptions } from '../app.ts';
import { findBrowser } from './chromium.ts';
import { createPerson, signInAs } from './dashboard-session.ts';

/**
 * Browser tests against a real server. Without a browser they are skipped, and the gate reports how
 * many did not run. The test files of a worker share one browser. After a failed test, the server
 * restarts with an empty database, so that later tests do not depend on its leftovers; no test may
 * rely on data of another.
 */

/** For one action; a page on a busy machine takes seconds. */
const STEP_TIMEOUT_MS = 45_000;

const chromiumFound = await findBrowser();

export interface BrowserSuite {
  /** A server with the dashboard, stopped when the suite ends. */
  app(): TestApp;
  /** Opens a new browser context without a session. */
  open(options?: WindowOptions): Promise<Page>;
  /**
   * Opens a page signed in with this role. The same role and options reuse the page and its browser
   * context, because a new page for each test would take minutes in total.
   */
  openAs(role: Role, options?: WindowOptions): Promise<Page>;
  /** Opens a page signed in as an existing user. */
  openFor(person: Person, options?: WindowOptions): Promise<Page>;
  /**
   * Returns and clears the errors since the last call: script errors, policy violations, dialogs and
   * requests to other hosts. A test with remaining errors fails.
   */
  takeErrors(): string[];
}

type Role = 'owner' | 'admin' | 'developer' | 'viewer';

export interface WindowOptions {
  width?: number;
  height?: number;
  dark?: boolean;
  mode?: 'live' | 'test';
  /** For a test that changes its page for good (clock, scripts, emulation) or needs an unused one. */
  fresh?: boolean;
  /** False for a browser that runs no scripts. */
  scripts?: boolean;
}

export function browserSuite(
  name: string,
  define: (suite: BrowserSuite) => void,
  options: TestAppOptions = {},
): void {
  describe.skipIf(!chromiumFound)(name, () => {
    let app: TestApp | undefined;
    let browser: Browser | undefined;
    const errors: string[] = [];
    const contexts: BrowserContext[] = [];
    const roles = new Map<Role, Person>();
    const windows = new Map<string, Page>();
    const changedPages = new WeakSet<Page>();
    let restart = false;
    const start = async (): Promise<void> => {
      app = await startApp({ ...options, env: { BASE_URL: 'http://localhost', ...options.env } });
      browser = await sharedBrowser();
    };
    const stop = async (): Promise<void> => {
      for (const context of contexts.splice(0)) await context.close();
      windows.clear();
      roles.clear();
      await app?.[Symbol.asyncDispose]();
    };
    beforeAll(async () => {
      await buildDashboard();
      await start();
    });
    beforeEach(async ({ onTestFailed }) => {
      if (restart) {
        restart = false;
        await stop();
        errors.length = 0;
        await start();
      }
      onTestFailed(async () => {
        for (const page of contexts.at(-1)?.pages() ?? []) console.log(await describePage(page));
        if (errors.length > 0) console.log(errors.splice(0).join('\n'));
      });
    });
    afterEach(({ task }) => {
      restart = task.result?.state === 'fail' || errors.length > 0;
      expect(errors.splice(0)).toEqual([]);
    });
    afterAll(stop);
    const running = (): TestApp => app as TestApp;
    const open = async (window: WindowOptions = {}): Promise<Page> => {
      const context = await newContext(browser as Browser, running(), window);
      context.setDefaultTimeout(STEP_TIMEOUT_MS);
      contexts.push(context);
      const page = await context.newPage();
      recordErrors(page, running().url, errors);
      return page;
    };
    const openFor = async (person: Person, window: WindowOptions = {}): Promise<Page> => {
      const page = await open(window);
      await addSessionCookie(page, running(), person);
      return page;
    };
    const openAsNew = async (role: Role, window: WindowOptions): Promise<Page> => {
      const known =
        roles.get(role) ?? (await createPerson(running(), `${role}@shop.example`, role));
      roles.set(role, known);
      return openFor(known, window);
    };
    define({
      app: running,
      open,
      openFor,
      takeErrors: () => errors.splice(0),
      async openAs(role, { fresh = false, ...window } = {}) {
        const cacheKey = JSON.stringify([role, window]);
        const before = windows.get(cacheKey);
        if (before && !before.isClosed() && !fresh && !changedPages.has(before)) {
          const errorCount = errors.length;
          await clearPage(before, window);
          errors.length = errorCount;
          return before;
        }
        const page = before ? await before.context().newPage() : await openAsNew(role, window);
        if (before) recordErrors(page, running().url, errors);
        await before?.close();
        windows.set(cacheKey, page);
        if (fresh) changedPages.add(page);
        return page;
      },
    });
  });
}

/** Pages that are being left, whatever is unsaved in them. */
const leaving = new WeakSet<Page>();

async function clearPage(page: Page, { width, height }: WindowOptions): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  // Pages of another origin have none.
  await page.evaluate('try { sessionStorage.clear() } catch {}');
  leaving.add(page);
  await page.goto('about:blank');
  leaving.delete(page);
  await page.setViewportSize(windowSize(width, height));
  await page.mouse.move(0, 0);
}

function windowSize(width = 1280, height = 860): { width: number; height: number } {
  return { width, height };
}

let launched: Promise<Browser> | undefined;

/** Never closed: Chromium exits with its worker. A crashed browser is replaced. */
async function sharedBrowser(): Promise<Browser> {
  const running = await launched?.catch(() => undefined);
  if (running?.isConnected()) return running;
  launched = chromium.launch(chromiumFound);
  return launched;
}

async function newContext(
  browser: Browser,
  app: TestApp,
  { width, height, dark = false, mode = 'test', scripts = true }: WindowOptions,
): Promise<BrowserContext> {
  return browser.newContext({
    javaScriptEnabled: scripts,
    baseURL: app.url,
    viewport: windowSize(width, height),
    colorScheme: dark ? 'dark' : 'light',
    reducedMotion: 'reduce',
    storageState: {
      cookies: [],
      origins: [{ origin: app.url, localStorage: [{ name: 'postrider.mode', value: mode }] }],
    },
  });
}

async function addSessionCookie(page: Page, app: TestApp, person: Person): Promise<void> {
  const { cookie } = await signInAs(app, person);
  const [name = '', value = ''] = (cookie ?? '').split('=', 2);
  await page
    .context()
    .addCookies([{ name, value, url: app.url, httpOnly: true, sameSite: 'Strict' }]);
}

/** Prints what is on the page when a test fails. */
async function describePage(page: Page): Promise<string> {
  if (page.isClosed()) return '';
  const texts = await page
    .locator('main, dialog[open], [aria-label=Notifications]')
    .allInnerTexts();
  return [page.url(), ...texts.map((text) => text.replaceAll(/\s*\n\s*/g, ' | ').slice(-900))].join(
    '\n',
  );
}

/** The browser logs every 4xx response as an error, although pages handle them. */
const EXPECTED = /Failed to load resource: the server responded with a status of 4\d\d/;

function recordErrors(page: Page, url: string, errors: string[]): void {
  page.on('pageerror', (error) => errors.push(`script error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || EXPECTED.test(message.text())) return;
    errors.push(`console: ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    if (leaving.has(page)) return void dialog.accept();
    errors.push(`dialog: ${dialog.message()}`);
    return void dialog.dismiss();
  });
  const foreign = (target: string): string | undefined =>
    target.startsWith(url) || /^(data|blob|about):/.test(target)
      ? undefined
      : `request to ${target}`;
  page.on('request', (request) => {
    const error = foreign(request.url());
    if (error) errors.push(error);
  });
  page.on('requestfailed', (request) => {
    // Blocked by the content security policy, which is reported on the console.
    if (request.failure()?.errorText !== 'csp') return;
    const at = errors.indexOf(foreign(request.url()) ?? '');
    if (at >= 0) errors.splice(at, 1);
  });
}
