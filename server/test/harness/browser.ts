import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildDashboard } from '../../../scripts/build-dashboard.ts';
import type { Person } from '../../src/accounts/people/person-store.ts';
import { startApp, type TestApp, type TestAppOptions } from './app.ts';
import { browserExpected, findBrowser } from './browser-chromium.ts';
import { createPerson, signInAs } from './dashboard-session.ts';

/**
 * A real browser at the real server. Where no browser can run, a single test says so and passes: such
 * a machine must not look like a broken dashboard. After a test that failed there is another server
 * with an empty database, so that a second try does not stumble over what the first one made: no test
 * may need what another has left behind.
 */

/** For one click or one look; a page on a busy machine takes seconds. */
const STEP_TIMEOUT_MS = 20_000;

const chromiumFound = await findBrowser();

export interface BrowserSuite {
  /** A server with the dashboard, stopped when the suite ends. */
  app(): TestApp;
  /** A window of its own, as nobody. */
  open(options?: WindowOptions): Promise<Page>;
  /**
   * A page in which somebody with this role is signed in. The same wish gets the same window again,
   * with what it has loaded: a cold start of the application each time would take minutes in all.
   */
  openAs(role: Role, options?: WindowOptions): Promise<Page>;
  /** The same for a person that is known already. */
  openFor(person: Person, options?: WindowOptions): Promise<Page>;
  /**
   * What went wrong in any window since the last look: errors of scripts, refusals of the policy,
   * dialogs, requests to elsewhere. A test that leaves any behind fails.
   */
  takeErrors(): string[];
}

type Role = 'owner' | 'admin' | 'developer' | 'viewer';

export interface WindowOptions {
  width?: number;
  height?: number;
  dark?: boolean;
  mode?: 'live' | 'test';
}

export function browserSuite(
  name: string,
  define: (suite: BrowserSuite) => void,
  options: TestAppOptions = {},
): void {
  if (!chromiumFound) {
    test(`${name}: no browser can run here`, () => {
      console.log(
        `Browser tests do not run on ${process.platform} ${process.arch} without a Chromium: install one, or set CHROMIUM_PATH.`,
      );
      expect(browserExpected()).toBe(false);
    });
    return;
  }
  describe(name, () => {
    let app: TestApp | undefined;
    let browser: Browser | undefined;
    const troubles: string[] = [];
    const contexts: BrowserContext[] = [];
    const roles = new Map<Role, Person>();
    const windows = new Map<string, Page>();
    let used = false;
    const start = async (): Promise<void> => {
      app = await startApp({ ...options, env: { BASE_URL: 'http://localhost', ...options.env } });
      browser = await chromium.launch(chromiumFound);
    };
    const stop = async (): Promise<void> => {
      for (const context of contexts.splice(0)) await context.close();
      windows.clear();
      roles.clear();
      await browser?.close();
      await app?.[Symbol.asyncDispose]();
    };
    beforeAll(async () => {
      await buildDashboard();
      await start();
    });
    beforeEach(async ({ onTestFailed }) => {
      if (used) {
        used = false;
        await stop();
        troubles.length = 0;
        await start();
      }
      onTestFailed(async () => {
        for (const page of contexts.at(-1)?.pages() ?? []) console.log(await describePage(page));
        if (troubles.length > 0) console.log(troubles.splice(0).join('\n'));
      });
    });
    afterEach(({ task }) => {
      used = task.result?.state === 'fail' || troubles.length > 0;
      expect(troubles.splice(0)).toEqual([]);
    });
    afterAll(stop);
    const running = (): TestApp => app as TestApp;
    const open = async (window: WindowOptions = {}): Promise<Page> => {
      const context = await newContext(browser as Browser, running(), window);
      context.setDefaultTimeout(STEP_TIMEOUT_MS);
      contexts.push(context);
      const page = await context.newPage();
      recordErrors(page, running().url, troubles);
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
      takeErrors: () => troubles.splice(0),
      async openAs(role, window = {}) {
        const wish = JSON.stringify([role, window]);
        const before = windows.get(wish);
        const page = before ? await before.context().newPage() : await openAsNew(role, window);
        if (before) recordErrors(page, running().url, troubles);
        await before?.close();
        windows.set(wish, page);
        return page;
      },
    });
  });
}

async function newContext(
  browser: Browser,
  app: TestApp,
  { width = 1280, height = 860, dark = false, mode = 'test' }: WindowOptions,
): Promise<BrowserContext> {
  return browser.newContext({
    baseURL: app.url,
    viewport: { width, height },
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

/** For whoever reads about a failed test. */
async function describePage(page: Page): Promise<string> {
  if (page.isClosed()) return '';
  const texts = await page.locator('main, dialog[open], [aria-label=Notices]').allInnerTexts();
  return [page.url(), ...texts.map((text) => text.replaceAll(/\s*\n\s*/g, ' | ').slice(-900))].join(
    '\n',
  );
}

/** Answers that a page is prepared for: the browser reports each of them as an error. */
const EXPECTED = /Failed to load resource: the server responded with a status of 4\d\d/;

function recordErrors(page: Page, url: string, troubles: string[]): void {
  page.on('pageerror', (error) => troubles.push(`script error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || EXPECTED.test(message.text())) return;
    troubles.push(`console: ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    troubles.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const foreign = (target: string): string | undefined =>
    target.startsWith(url) || /^(data|blob|about):/.test(target)
      ? undefined
      : `a request to ${target}`;
  page.on('request', (request) => {
    const trouble = foreign(request.url());
    if (trouble) troubles.push(trouble);
  });
  page.on('requestfailed', (request) => {
    // The policy stopped it before it left, and said so on the console.
    if (request.failure()?.errorText !== 'csp') return;
    const at = troubles.indexOf(foreign(request.url()) ?? '');
    if (at >= 0) troubles.splice(at, 1);
  });
}
