import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text as readAll } from 'node:stream/consumers';
import { apiEnvironment } from '../../config/env.ts';
import { targetOf } from '../api/choose-target.ts';
import { currentKey, describeKey } from '../api/current-key.ts';
import { loginFile, writeLogin } from '../api/stored-login.ts';
import { type Command, UsageError } from '../command.ts';
import { lines, paint } from '../terminal.ts';

export const login: Command = {
  name: 'login',
  summary: 'Use a server over HTTP from now on.',
  details:
    'Asks for an API key, or reads it from POSTRIDER_API_KEY or standard input. The key is checked and ' +
    'stored with the URL in a file that only you can read. In CI, set POSTRIDER_URL and ' +
    'POSTRIDER_API_KEY instead.',
  arguments: [
    { name: 'URL', description: 'The URL of the server, such as https://mail.example.com.' },
  ],
  run: async (input) => {
    const [given = ''] = input.arguments;
    const url = given.replace(/\/+$/, '');
    const apiKey = (apiEnvironment().apiKey ?? (await readKey())).trim();
    if (!/^pr_(live|test)_/.test(apiKey)) {
      throw new UsageError('An API key begins with pr_live_ or pr_test_. Nothing was stored.');
    }
    const target = await targetOf(url, apiKey, 'login');
    const key = await currentKey(target);
    await writeLogin({ url, apiKey });
    return {
      data: { url, file: loginFile(), key },
      text: lines([
        `Logged in to ${url}.`,
        ...describeKey(key),
        ...(isUnencrypted(url)
          ? [paint('yellow', 'The connection is not encrypted: the key can be read on the way.')]
          : []),
        `Stored in ${loginFile()}; "postrider logout" deletes it.`,
      ]),
    };
  },
};

function isUnencrypted(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(hostname);
}

/** From a pipe, or typed on a terminal without being shown. */
async function readKey(): Promise<string> {
  if (!process.stdin.isTTY) return readAll(process.stdin);
  process.stderr.write('API key (pr_live_… or pr_test_…): ');
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  const prompt = createInterface({ input: process.stdin, output: silent, terminal: true });
  try {
    return await prompt.question('');
  } finally {
    prompt.close();
    process.stderr.write('\n');
  }
}
