import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findBrowser } from '../server/test/harness/browser/chromium.ts';

/** Older releases of Debian have no headless shell of their own. */
const PACKAGES = ['chromium-headless-shell', 'chromium'];

/**
 * Installs Debian's Chromium for the browser tests where npm has no build for the platform (Linux on
 * arm64) and this user may install packages. Without a browser, the browser tests are skipped.
 */
export async function installChromium(): Promise<void> {
  if (await findBrowser()) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  console.log('   Installing Chromium for the browser tests');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const aptGet = (...args: string[]): boolean =>
    spawnSync('apt-get', ['-q', ...args], { stdio: 'inherit', env }).status === 0;
  if (!aptGet('update')) return;
  for (const name of PACKAGES) {
    if (aptGet('install', '-y', '--no-install-recommends', name)) return;
  }
}
