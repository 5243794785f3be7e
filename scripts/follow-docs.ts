import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  codeBlocks,
  commandsIn,
  documentFiles,
  EXAMPLE_URL,
  responseAfter,
} from './documentation.ts';
import { ROOT } from './project-files.ts';

/**
 * Follows README.md and docs/quickstart.md as a reader does: in a fresh clone, command by command,
 * and ends at the first that does not do what the page says. It needs port 3000 and a few minutes:
 * `npm run docs:follow`, or with the name of one page.
 */

const PAGES = ['README.md', 'docs/quickstart.md'];
const READY_MS = 180_000;
const STOP_MS = 60_000;

async function followAll(pages: readonly string[]): Promise<void> {
  for (const file of pages) {
    const folder = await mkdtemp(path.join(tmpdir(), 'postrider-follow-'));
    const reader = new Reader(path.join(folder, 'postrider'));
    try {
      await reader.run(`git clone --quiet ${ROOT} postrider`, folder);
      await reader.follow(file);
      process.stdout.write(`${file}: everything works as written.\n`);
    } finally {
      await reader.stop();
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** Someone who pastes one command after the other into a terminal, with a second one for the server. */
class Reader {
  readonly #folder: string;
  readonly #variables: Record<string, string> = {};
  #server: ChildProcess | undefined;
  #printed = '';

  constructor(folder: string) {
    this.#folder = folder;
  }

  async follow(file: string): Promise<void> {
    const page = documentFiles(this.#folder).find((one) => one.file === file);
    if (!page) throw new Error(`${file} is missing.`);
    const blocks = codeBlocks(page);
    for (const [at, { language, code, line }] of blocks.entries()) {
      if (language !== 'sh') continue;
      let output = '';
      for (const command of commandsIn(code)) {
        process.stdout.write(`${file}:${line}: ${command.split('\n')[0]}\n`);
        output = await this.#follow(command);
      }
      const shown = responseAfter(blocks, at);
      if (!shown) continue;
      const differences = shapeDifferences(JSON.parse(shown.code), JSON.parse(output));
      if (differences.length > 0) {
        throw new Error(`${file}:${shown.line}: ${differences.join('; ')}\n${output}`);
      }
    }
  }

  async #follow(command: string): Promise<string> {
    const [words = '', comment = ''] = command.split(/\s+#\s/, 2);
    if (/^(?:\w+=\S+ )*npm start$/.test(words)) {
      await this.#start(words);
      return '';
    }
    const variable = /^export (\w+)=(\S+)$/.exec(words);
    if (variable) {
      // The page cannot know the key; it says which one to take.
      this.#variables[variable[1] ?? ''] = (variable[2] ?? '').includes('…')
        ? (/pr_test_\w{20,}/.exec(this.#printed)?.[0] ?? '')
        : (variable[2] ?? '');
      return '';
    }
    const expected = Number(/exits with (\d)/.exec(comment)?.[1] ?? 0);
    const fails = command.startsWith('curl ')
      ? command.replace('curl ', 'curl --fail-with-body ')
      : words;
    return await this.run(fails, this.#folder, expected);
  }

  /** Returns what it printed; throws if it ends with another code. */
  async run(command: string, folder: string, expected = 0): Promise<string> {
    const child = spawn('bash', ['-c', command], {
      cwd: folder,
      env: { ...environment(), ...this.#variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    if (code === expected) return output;
    throw new Error(`${command}\nended with ${code} instead of ${expected}:\n${output}${errors}`);
  }

  async #start(command: string): Promise<void> {
    await this.stop();
    this.#printed = '';
    const server = spawn('bash', ['-c', `exec ${withoutAssignments(command)}`], {
      cwd: this.#folder,
      env: { ...environment(), ...assignments(command) },
      detached: true,
    });
    this.#server = server;
    for (const stream of [server.stdout, server.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.#printed += chunk;
      });
    }
    // The address is printed last, after the key.
    const isUp = async (): Promise<boolean> =>
      this.#printed.includes(EXAMPLE_URL) && (await isReady());
    await until(isUp, READY_MS, () => {
      if (!hasEnded(server)) return;
      throw new Error(`${command} did not start a server:\n${this.#printed}`);
    });
  }

  /** Like Ctrl-C in the terminal of the server. */
  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    if (server?.pid === undefined || hasEnded(server)) return;
    process.kill(-server.pid, 'SIGINT');
    await until(async () => hasEnded(server) && !(await isReady()), STOP_MS);
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function until(
  isTrue: () => Promise<boolean>,
  timeoutMs: number,
  check: () => void = () => {},
): Promise<void> {
  const end = Date.now() + timeoutMs;
  while (!(await isTrue())) {
    check();
    if (Date.now() > end) throw new Error(`Not within ${timeoutMs / 1000} seconds.`);
    await sleep(200);
  }
}

function assignments(command: string): Record<string, string> {
  return Object.fromEntries(
    [...command.matchAll(/(\w+)=(\S+) /g)].map(([, name = '', value = '']) => [name, value]),
  );
}

function withoutAssignments(command: string): string {
  return command.replaceAll(/\w+=\S+ /g, '');
}

/** That of a new terminal: npm would pass on its own settings and our node. */
function environment(): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env;
  const outside = PATH.split(':').filter((place) => !place.includes('node_modules'));
  return { PATH: outside.join(':'), HOME };
}

function isReady(): Promise<boolean> {
  return fetch(`${EXAMPLE_URL}/readyz`).then(
    (response) => response.ok,
    () => false,
  );
}

/** Compares names and types of two JSON values; lists are compared by their first item. */
export function shapeDifferences(shown: unknown, actual: unknown, at = ''): string[] {
  if (typeOf(shown) !== typeOf(actual)) {
    return [`${at || '/'} is ${typeOf(actual)}, not ${typeOf(shown)}`];
  }
  if (Array.isArray(shown) && Array.isArray(actual)) {
    if (shown.length === 0 || actual.length === 0) return [];
    return shapeDifferences(shown[0], actual[0], `${at}/0`);
  }
  if (!isObject(shown) || !isObject(actual)) return [];
  const names = new Set([...Object.keys(shown), ...Object.keys(actual)]);
  return [...names].flatMap((name) => {
    if (!(name in actual)) return [`${at}/${name} is missing`];
    if (!(name in shown)) return [`${at}/${name} is not shown`];
    return shapeDifferences(shown[name], actual[name], `${at}/${name}`);
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'list' : typeof value;
}

if (process.argv[1] === import.meta.filename) {
  const named = process.argv.slice(2);
  await followAll(named.length > 0 ? named : PAGES);
}
