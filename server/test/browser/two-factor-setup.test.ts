import { expect, test } from 'vitest';
import { codeAt } from '../../src/accounts/people/totp.ts';
import { fromBase32 } from '../harness/base32.ts';
import { browserSuite } from '../harness/browser/browser.ts';
import { createPerson, PASSWORD } from '../harness/browser/dashboard-session.ts';
import { readQr } from '../harness/browser/qr-code.ts';

/**
 * Goal: an authenticator app can scan the QR code, and its codes then work for signing in.
 * Method: the rendered code is decoded module by module.
 */
browserSuite('two-factor authentication', (suite) => {
  test('is scanned, confirmed, and required at the next sign-in', async () => {
    const email = 'user.with.a.long.address@department.shop.example';
    const page = await suite.openFor(await createPerson(suite.app(), email, 'owner'));
    await page.goto('/app/settings');
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByLabel('Your password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Continue' }).click();
    const code = page.getByRole('img', { name: 'QR code' });
    await code.waitFor();
    const uri = new URL(
      readQr(
        modulesOf(
          Number((await code.getAttribute('viewBox'))?.split(' ')[2]),
          (await code.locator('path').getAttribute('d')) ?? '',
        ),
      ),
    );
    expect(uri.protocol).toBe('otpauth:');
    expect(decodeURIComponent(uri.pathname)).toContain(email);
    const secret = uri.searchParams.get('secret') ?? '';
    await page.getByText(secret, { exact: true }).waitFor();

    await page.getByLabel('Code from the app').fill('000000');
    await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click();
    await page.locator('[aria-invalid=true]').waitFor();
    const now = () => codeAt(fromBase32(secret), Date.now());
    await page.getByLabel('Code from the app').fill(now());
    await page.getByRole('dialog').getByRole('button', { name: 'Turn on' }).click();
    const shown = await page.getByRole('region', { name: 'recovery codes' }).textContent();
    const [recovery = ''] = shown?.trim().split('\n') ?? [];
    await page.getByRole('button', { name: 'I’ve saved these codes' }).click();
    await page.getByText('10 recovery codes left').waitFor();

    await page.getByRole('button', { name: /Your account/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByLabel('Code').fill(recovery);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('heading', { name: 'Overview', exact: true }).waitFor();
  });
});

function modulesOf(sizeWithMargin: number, path: string): boolean[][] {
  const size = sizeWithMargin - 8;
  const modules = Array.from({ length: size }, () => new Array<boolean>(size).fill(false));
  for (const [, x, y] of path.matchAll(/M(\d+) (\d+)h1v1h-1z/g)) {
    const row = modules[Number(y) - 4] as boolean[];
    row[Number(x) - 4] = true;
  }
  return modules;
}
