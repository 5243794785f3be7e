import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommand } from './run-command.ts';

/**
 * Goal: a wrong command line costs one reading: exit code 2, a sentence about the mistake and the
 * usage, on standard error alone. Method: whole command lines, none of which
 * gets as far as a database.
 */

let stdout = '';
let stderr = '';

beforeEach(() => {
  [stdout, stderr] = ['', ''];
  vi.spyOn(console, 'log').mockImplementation((text: string) => {
    stdout += `${text}\n`;
  });
  vi.spyOn(console, 'error').mockImplementation((text: string) => {
    stderr += `${text}\n`;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

function run(args: readonly string[]): Promise<number> {
  const unexpected = () => Promise.reject(new Error('It went too far.'));
  return runCommand(args, { start: unexpected, send: unexpected });
}

describe('a mistake', () => {
  it.each<[string[], string]>([
    [['frobnicate'], 'There is no command "frobnicate".'],
    [['keys', 'frobnicate'], 'There is no command "keys frobnicate".'],
    [['helo'], 'There is no command "helo". Do you mean "help"?'],
    [['domain', 'list'], 'There is no command "domain". Do you mean "domains"?'],
    [['keys', 'lsit'], 'There is no command "keys lsit". Do you mean "keys list"?'],
    [['-x'], 'There is no option -x without a command.'],
    [['keys', 'create', '--scopes', 'all'], '--mode is missing'],
    [['keys', 'create', '--mode', 'test'], '--scopes is missing'],
    [['keys', 'create', '--mode'], '--mode takes a value: live|test.'],
    [
      ['keys', 'create', '--mode', 'both', '--scopes', 'all'],
      '--mode takes live or test, not "both".',
    ],
    [['keys', 'create', '--mode', 'test', '--scopes', 'fly'], 'There is no scope fly.'],
    [['keys', 'create', '--mode=test', '--scopes=,'], 'No scope was given.'],
    [
      ['keys', 'create', '--mode=live', '--scopes=all', '--allowed-ips', ','],
      '--allowed-ips takes a list, and this one is empty.',
    ],
    [
      ['keys', 'create', '--mode=live', '--scopes=all', '--expires', '999999999w'],
      '--expires lies beyond the year 9999.',
    ],
    [['keys', 'create', '--mode=live', '--mode=test'], '--mode was given twice.'],
    [
      ['send', '--to', 'a@example.com', '--subject', '--dry-run'],
      '--subject takes a value: TEXT. If it is --dry-run, write --subject=--dry-run.',
    ],
    [['keys', 'list', '--frobnicate'], 'There is no option --frobnicate.'],
    [['keys', 'list', '--json=yes'], '--json takes no value.'],
    [['keys', 'revoke'], 'ID is missing'],
    [['keys', 'revoke', 'key_1', 'key_2'], '"key_2" is one word too many.'],
    [['keys', 'rotate', 'key_1', '--grace', 'soon'], '--grace takes a span such as'],
    [['workspaces', 'create'], 'NAME is missing'],
    [['workspaces', 'create', ' '], 'NAME takes 1 to 100 visible characters.'],
    [['send'], 'Say what to send'],
    [
      ['send', '--to', 'a@example.com', '--variables', '[]'],
      '--variables does not hold a JSON object.',
    ],
    [['send', '--file', 'no-such-file.json'], '--file: ENOENT'],
    [['doctor', '--outgoing', 'a b'], '--outgoing takes a host name or an address'],
  ])('%j', async (args, sentence) => {
    const code = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr).toContain('Usage: postrider');
  });

  it('of the environment is told by every variable', async () => {
    vi.stubEnv('PORT', 'http');
    vi.stubEnv('LOG_LEVEL', 'loud');
    expect(await run(['keys', 'list'])).toBe(2);
    expect(stderr).toMatch(/PORT: "http" is not valid[\s\S]*LOG_LEVEL: "loud" is not valid/);
  });
});

it.each(['--version', '-v', 'version'])('%s tells the version', async (word) => {
  expect(await run([word])).toBe(0);
  expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
});

describe('help', () => {
  it.each<[string[], string[]]>([
    [[], ['start', 'workspaces create NAME', 'keys create', 'doctor']],
    [['help'], ['start', 'keys revoke ID']],
    [
      ['keys', '--help'],
      ['keys create', 'keys rotate ID'],
    ],
    [
      ['keys', 'create', '--help'],
      ['--mode live|test', '--expires SPAN|TIME', 'send:transactional'],
    ],
    [['help', 'keys', 'create'], ['--allowed-ips LIST']],
  ])('%j', async (args, words) => {
    expect(await run(args)).toBe(0);
    for (const word of words) expect(stdout).toContain(word);
  });
});
