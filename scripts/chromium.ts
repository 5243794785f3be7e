import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findBrowser } from '../server/test/harness/browser-chromium.ts';

/**
 * Installs Debian's Chromium for the browser tests where npm has no build for the platform (Linux on
 * arm64) and this user may install packages. Without a browser, the browser tests are skipped.
 */
export async function installChromium(): Promise<void> {
  if (await findBrowser()) return;
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return;
  console.log('   Installing Chromium for the browser tests');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'chromium']]) {
    const { status } = spawnSync('apt-get', ['-q', ...args], { stdio: 'inherit', env });
    if (status !== 0) return;
  }
}
