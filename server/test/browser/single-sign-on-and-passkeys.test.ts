import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { encodeId } from '../../src/lib/ids.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { accessibilityViolations, expectToFit } from '../harness/browser/checks.ts';
import { createPerson, PASSWORD } from '../harness/browser/dashboard-session.ts';
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type TestProvider,
} from '../harness/browser/identity-provider.ts';
import { freePort } from '../harness/free-port.ts';

/**
 * Goal: an owner sets up single sign-on and requires it, members sign in with it, and users sign in with
 * a passkey. Method: a real provider, and Chromium's virtual authenticator. Both depend on the exact URL
 * of the server, so it has a port of its own, and pages use `localhost`: a passkey cannot belong to an
 * IP address.
 */

const port = await freePort();
const baseUrl = `http://localhost:${port}`;
const env = {
  PORT: String(port),
  HOST: 'localhost',
  BASE_URL: baseUrl,
  WEBHOOK_ALLOW_PRIVATE: 'true',
  WEBHOOK_PORTS: '1-65535',
};

browserSuite(
  'single sign-on and passkeys',
  (suite) => {
    let provider: TestProvider;

    beforeAll(async () => {
      const workspace = encodeId('wsp', suite.app().workspaceId);
      provider = await startIdentityProvider([`${baseUrl}/sso/callback/${workspace}`]);
    });
    afterAll(() => provider[Symbol.asyncDispose]());

    /** The suite expects pages at the IP address, and none of the provider. */
    const expectKnownHosts = () => {
      const known = [baseUrl, provider.issuer].map((host) => `request to ${host}/`);
      const isKnown = (error: string) => known.some((start) => error.startsWith(start));
      expect(suite.takeErrors().filter((error) => !isKnown(error))).toEqual([]);
    };
    const overview = (page: Page) =>
      page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();

    test('an owner sets up a provider and requires it; members sign in with it', async () => {
      const boss = await createPerson(suite.app(), 'boss@shop.example', 'owner');
      const owner = await suite.open();
      await owner.goto(`${baseUrl}/app/sign-in?next=%2Fsettings%3Ftab%3Dworkspace`);
      await signInWithPassword(owner, boss.email);
      await owner.getByRole('button', { name: 'Set up single sign-on' }).click();
      const dialog = owner.getByRole('dialog');
      await dialog.waitFor();
      // The first field has the focus, not the button that copies the redirect URI.
      await owner.keyboard.type('Shop login');
      await dialog.getByLabel('Issuer').fill(`${provider.issuer}/wrong`);
      await dialog.getByLabel('Client ID').fill(CLIENT_ID);
      await dialog.getByLabel('Client secret').fill(CLIENT_SECRET);
      await dialog.getByRole('button', { name: 'Add group' }).click();
      await dialog.getByLabel('Group', { exact: true }).fill('engineers');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await dialog.getByText('cannot be read from').waitFor();
      await dialog.getByLabel('Issuer').fill(provider.issuer);
      await dialog.getByRole('button', { name: 'Save' }).click();
      const link = `${baseUrl}/app/sign-in?workspace=`;
      await owner.getByText(link).waitFor();
      await expectToFit(owner);
      expect(await accessibilityViolations(owner)).toEqual([]);
      const shown = await owner.getByText(link).innerText();

      const person = { sub: 'kim', email: 'kim@shop.example', email_verified: true, name: 'Kim' };
      provider.user = { ...person, groups: [] };
      const member = await suite.open();
      await member.goto(shown.trim());
      await member.getByRole('link', { name: 'Sign in with Shop login' }).click();
      await member.getByRole('heading', { name: 'You have no access to this workspace' }).waitFor();
      await expectToFit(member);
      expect(await accessibilityViolations(member)).toEqual([]);
      provider.user = { ...person, groups: ['engineers'] };
      await member.getByRole('link', { name: 'Try again' }).click();
      await overview(member);
      await member.goto(`${baseUrl}/app/settings`);
      await member.getByText('You signed in with the identity provider').waitFor();
      // Signs out of the provider too, which sends the browser back.
      expect(provider.signOuts).toBe(0);
      await signOut(member);
      await member.getByRole('link', { name: 'Sign in with Shop login' }).waitFor();
      expect(provider.signOuts).toBe(1);
      // The browser knows which workspace it used last.
      await member.getByRole('link', { name: 'Sign in with Shop login' }).click();
      await overview(member);

      const colleague = await createPerson(suite.app(), 'lee@shop.example', 'developer');
      const withPassword = await suite.open();
      await withPassword.goto(`${baseUrl}/app/sign-in`);
      await signInWithPassword(withPassword, colleague.email);
      await overview(withPassword);
      await owner.getByRole('button', { name: 'Edit' }).click();
      await owner.getByRole('dialog').getByLabel('Require single sign-on').check();
      await owner.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await owner.getByText('Required', { exact: true }).waitFor();
      await withPassword.goto(`${baseUrl}/app/messages`);
      await withPassword.getByText('This workspace requires its own sign-in.').waitFor();
      provider.user = { sub: 'lee', email: colleague.email, groups: ['engineers'] };
      await withPassword.getByRole('link', { name: 'Sign in with Shop login' }).click();
      await overview(withPassword);
      expectKnownHosts();
    });

    test('a passkey is added in the settings and signs in', async () => {
      const person = await createPerson(suite.app(), 'sam@shop.example', 'owner');
      const page = await suite.open();
      const devtools = await page.context().newCDPSession(page);
      await devtools.send('WebAuthn.enable');
      await devtools.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      });
      await page.goto(`${baseUrl}/app/sign-in`);
      await signInWithPassword(page, person.email);
      await overview(page);
      await page.goto(`${baseUrl}/app/settings`);
      await page.getByRole('button', { name: 'Add passkey' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Laptop');
      await page.getByLabel('Your password').fill(PASSWORD);
      await page.getByRole('button', { name: 'Continue' }).click();
      await page.getByText('Laptop').waitFor();
      await page.getByRole('button', { name: 'Rename Laptop' }).click();
      await page.getByRole('dialog').getByLabel('Name').fill('Desk');
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
      await page.getByText('Desk').waitFor();

      // A browser that does not suggest passkeys has the button. The authenticator answers at once.
      await page.evaluate(
        'PublicKeyCredential.isConditionalMediationAvailable = () => Promise.resolve(false)',
      );
      await signOut(page);
      // The settings, which are shown until then, have fields for email addresses too.
      await page.getByRole('button', { name: 'Use a passkey' }).waitFor();
      const email = page.getByLabel('Email');
      expect(await email.getAttribute('autocomplete')).toBe('username webauthn');
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Use a passkey' }).click();
      await overview(page);
      // Others suggest them in the email field, without a click on the button.
      await page.goto(`${baseUrl}/app/settings`);
      await page.getByText('Desk').waitFor();
      await signOut(page);
      await overview(page);
      await page.goto(`${baseUrl}/app/settings`);
      await page.getByText('last used').waitFor();
      await expectToFit(page);
      expect(await accessibilityViolations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Remove Desk' }).click();
      await page.getByRole('button', { name: 'Remove passkey' }).click();
      await page.getByText('No passkeys yet.').waitFor();
      expectKnownHosts();
    });
  },
  { env },
);

async function signOut(page: Page): Promise<void> {
  await page.getByRole('button', { name: /Your account/ }).click();
  await page.getByRole('menuitem', { name: 'Sign out' }).click();
}

async function signInWithPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password').fill(PASSWORD);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
}
