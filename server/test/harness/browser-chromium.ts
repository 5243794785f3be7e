import { existsSync } from 'node:fs';

/**
 * Which Chromium there is: the one that CHROMIUM_PATH names, or the system's, or on Linux with an x64
 * processor the one from npm.
 */

export interface FoundBrowser {
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

export async function findBrowser(): Promise<FoundBrowser | undefined> {
  const named = [process.env.CHROMIUM_PATH ?? '', ...SYSTEM].find((path) => existsSync(path));
  if (named) return { executablePath: named, args: ARGS };
  if (!hasNpmChromium) return undefined;
  const { default: packed } = await import('@sparticuz/chromium');
  return { executablePath: await packed.executablePath(), args: [...packed.args, ...ARGS] };
}

/** Whether a browser must have been found here. */
export function browserExpected(): boolean {
  return SYSTEM.some((path) => existsSync(path)) || hasNpmChromium;
}
