import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildDashboard } from '../../../scripts/build-dashboard.ts';
import type { Person } from '../../src/accounts/people/person-store.ts';
import { startApp, type TestApp, type TestAppOptions } from './app.ts';
import { makePerson, signedInAs } from './visitor.ts';

/**
 * A real browser at the real server. The Chromium is the one that CHROMIUM_PATH names, or the
 * system's, or on Linux with an x64 processor the one from npm. Where there is none, a single test
 * says so and passes: a machine that cannot run a browser must not look like a broken dashboard.
 */

interface FoundBrowser {
  executablePath: string;
  args: string[];
}

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const SYSTEM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const hasNpmChromium = process.platform === 'linux' && process.arch === 'x64';

async function findBrowser(): Promise<FoundBrowser | undefined> {
  const named = [process.env.CHROMIUM_PATH ?? '', ...SYSTEM].find((path) => existsSync(path));
  if (named) return { executablePath: named, args: ARGS };
  if (!hasNpmChromium) return undefined;
  const { default: packed } = await import('@sparticuz/chromium');
  return { executablePath: await packed.executablePath(), args: [...packed.args, ...ARGS] };
}

const found = await findBrowser();

export interface BrowserSuite {
  /** A server with the dashboard, stopped when the suite ends. */
  app(): TestApp;
  /** A window of its own, as nobody. */
  open(options?: WindowOptions): Promise<Page>;
  /** A window in which somebody with this role is signed in. */
  openAs(role: Role, options?: WindowOptions): Promise<Page>;
  /** The same for a person that is known already. */
  openFor(person: Person, options?: WindowOptions): Promise<Page>;
  /** What went wrong in any window: errors of scripts, refusals of the policy, foreign requests. */
  troubles(): string[];
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
  if (!found) {
    test(`${name}: no browser can run here`, () => {
      console.log(
        `Browser tests do not run on ${process.platform} ${process.arch} without a Chromium: install one, or set CHROMIUM_PATH.`,
      );
      expect(SYSTEM.some((path) => existsSync(path)) || hasNpmChromium).toBe(false);
    });
    return;
  }
  describe(name, () => {
    let app: TestApp | undefined;
    let browser: Browser | undefined;
    const troubles: string[] = [];
    const contexts: BrowserContext[] = [];
    const roles = new Map<Role, Person>();
    beforeAll(async () => {
      await buildDashboard();
      app = await startApp({ ...options, env: { BASE_URL: 'http://localhost', ...options.env } });
      browser = await chromium.launch(found);
    });
    beforeEach(({ onTestFailed }) => {
      onTestFailed(async () => {
        for (const page of contexts.at(-1)?.pages() ?? []) console.log(await whatIsSeen(page));
        if (troubles.length > 0) console.log(troubles.splice(0).join('\n'));
      });
    });
    afterAll(async () => {
      for (const context of contexts) await context.close();
      await browser?.close();
      await app?.[Symbol.asyncDispose]();
    });
    const running = (): TestApp => app as TestApp;
    const open = async (window: WindowOptions = {}): Promise<Page> => {
      const context = await newWindow(browser as Browser, running(), window);
      contexts.push(context);
      const page = await context.newPage();
      watch(page, running().url, troubles);
      return page;
    };
    const openFor = async (person: Person, window: WindowOptions = {}): Promise<Page> => {
      const page = await open(window);
      await takeSession(page, running(), person);
      return page;
    };
    define({
      app: running,
      open,
      openFor,
      troubles: () => troubles.splice(0),
      async openAs(role, window) {
        const known =
          roles.get(role) ?? (await makePerson(running(), `${role}@shop.example`, role));
        roles.set(role, known);
        return openFor(known, window);
      },
    });
  });
}

async function newWindow(
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

async function takeSession(page: Page, app: TestApp, person: Person): Promise<void> {
  const { cookie } = await signedInAs(app, person);
  const [name = '', value = ''] = (cookie ?? '').split('=', 2);
  await page
    .context()
    .addCookies([{ name, value, url: app.url, httpOnly: true, sameSite: 'Strict' }]);
}

/** For whoever reads about a failed test. */
async function whatIsSeen(page: Page): Promise<string> {
  const text = await page.locator('body').textContent({ timeout: 2_000 });
  return `${page.url()}\n${text?.slice(0, 1_500)}`;
}

/** Answers that a page is prepared for: the browser reports each of them as an error. */
const EXPECTED = /Failed to load resource: the server responded with a status of 4\d\d/;

function watch(page: Page, url: string, troubles: string[]): void {
  page.on('pageerror', (error) => troubles.push(`script error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || EXPECTED.test(message.text())) return;
    troubles.push(`console: ${message.text()}`);
  });
  page.on('request', (request) => {
    const target = request.url();
    if (!target.startsWith(url) && !/^(data|blob|about):/.test(target)) {
      troubles.push(`a request to ${target}`);
    }
  });
}
