#!/usr/bin/env node
/**
 * The command `postrider`. The server is TypeScript that Node 24 runs as it stands; an older Node
 * hands over to the one that `npm ci` brought along. So this file must run on old ones.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const NEEDED_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) {
  await import('../src/main.ts');
} else {
  runWith(broughtNode());
}

/** The binary of the npm package `node`. */
function broughtNode() {
  const require = createRequire(import.meta.url);
  for (const folder of require.resolve.paths('node-bin') ?? []) {
    const binary = path.join(folder, 'node', 'bin', 'node');
    if (existsSync(binary)) return binary;
  }
  return undefined;
}

/** @param {string | undefined} node */
function runWith(node) {
  if (node === undefined) {
    console.error(
      `Postrider needs Node ${NEEDED_MAJOR}; this is ${process.version}. Run "npm ci" in its folder: it brings one along.`,
    );
    process.exitCode = 1;
    return;
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Ctrl-C reaches the child from the terminal too, and a second SIGINT would mean that somebody is
    // in a hurry. A supervisor that stops by SIGINT reaches only us: so it is passed on as SIGTERM.
    process.on(signal, () => child.kill(signal === 'SIGINT' ? 'SIGTERM' : signal));
  }
  child.on('error', (error) => {
    console.error(`Node ${NEEDED_MAJOR} could not be started: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.removeAllListeners(signal ?? 'SIGTERM');
    if (signal) process.kill(process.pid, signal);
    else process.exit(code ?? 1);
  });
}
