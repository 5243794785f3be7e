import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommand } from './run-command.ts';

/**
 * Goal: an invalid command line exits with code 2 and prints the error and the usage to standard
 * error only. Method: whole command lines, none of which reaches the database.
 */

let stdout = '';
let stderr = '';

beforeEach(() => {
  // The login of the user who runs the tests is not used.
  vi.stubEnv('XDG_CONFIG_HOME', '/nowhere');
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
  const unexpected = () => Promise.reject(new Error('Unexpected call.'));
  return runCommand(args, { start: unexpected, startRouter: unexpected, send: unexpected });
}

describe('a mistake', () => {
  it.each<[string[], string]>([
    [['frobnicate'], 'Unknown command "frobnicate".'],
    [['keys', 'frobnicate'], 'Unknown command "keys frobnicate".'],
    [['helo'], 'Unknown command "helo". Did you mean "help"?'],
    [['domain', 'list'], 'Unknown command "domain list". Did you mean "domains list"?'],
    [['key', 'create'], 'Unknown command "key create". Did you mean "keys create"?'],
    [['domain'], 'Unknown command "domain". Did you mean "domains"?'],
    [['keys', 'lsit'], 'Unknown command "keys lsit". Did you mean "keys list"?'],
    [['-x'], 'Unknown option -x.'],
    [['keys', 'create', '--scopes', 'all'], 'Missing option --mode'],
    [['keys', 'create', '--mode', 'test'], 'Missing option --scopes'],
    [['keys', 'create', '--mode'], '--mode requires a value: live|test.'],
    [
      ['keys', 'create', '--mode', 'both', '--scopes', 'all'],
      '--mode must be live or test, not "both".',
    ],
    [['keys', 'create', '--mode', 'test', '--scopes', 'fly'], 'Unknown scope: fly.'],
    [['keys', 'create', '--mode=test', '--scopes=,'], 'No scopes given.'],
    [
      ['keys', 'create', '--mode=live', '--scopes=all', '--allowed-ips', ','],
      '--allowed-ips must not be an empty list.',
    ],
    [
      ['keys', 'create', '--mode=live', '--scopes=all', '--expires', '999999999w'],
      '--expires is beyond the year 9999.',
    ],
    [['keys', 'create', '--mode=live', '--mode=test'], '--mode was given more than once.'],
    [
      ['send', '--to', 'a@example.com', '--subject', '--dry-run'],
      '--subject requires a value: TEXT. To pass --dry-run as the value, write --subject=--dry-run.',
    ],
    [['keys', 'list', '--frobnicate'], 'Unknown option --frobnicate.'],
    [
      ['keys', 'create', '--mode=test', '--scope=all'],
      'Unknown option --scope. Did you mean --scopes?',
    ],
    [['messages', 'list'], 'This command needs a running server. Run "postrider login URL"'],
    [['messages', 'list', '--limit', '0'], '--limit must be a positive number, not "0".'],
    [['webhooks', 'listen', 'http://'], 'URL must be a URL or a port'],
    [['webhooks', 'listen', '3000', '--secret', 'x'], '--secret must be whsec_ followed by'],
    [['keys', 'list', '--json=yes'], '--json does not take a value.'],
    [['keys', 'revoke'], 'Missing argument ID'],
    [['keys', 'revoke', 'key_1', 'key_2'], 'Unexpected argument "key_2".'],
    [['keys', 'rotate', 'key_1', '--grace', 'soon'], '--grace must be a duration such as'],
    [['workspaces', 'create'], 'Missing argument NAME'],
    [['workspaces', 'create', ' '], 'NAME must have 1 to 100 printable characters.'],
    [['send'], 'Nothing to send'],
    [['send', '--to', 'a@example.com', '--variables', '[]'], '--variables must be a JSON object.'],
    [['send', '--file', 'no-such-file.json'], '--file: ENOENT'],
    [['doctor', '--outgoing', 'a b'], '--outgoing must be a host name or an IP address'],
  ])('%j', async (args, sentence) => {
    const code = await run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(sentence);
    expect(stderr).toContain('Usage: postrider');
  });

  it.each([
    [['frobnicate', '--json'], 'Unknown command "frobnicate".'],
    [['keys', 'revoke', '--json'], 'Missing argument ID: The id of the key (key_…).'],
    [['--frobnicate', '--json'], 'Unknown option --frobnicate.'],
  ])('is JSON with --json: %j', async (args, detail) => {
    expect(await run(args)).toBe(2);
    expect(JSON.parse(stderr)).toEqual({ code: 'invalid_usage', detail });
  });

  it.each([
    ['POSTRIDER_URL', 'http://localhost:9', 'POSTRIDER_API_KEY is missing.'],
    ['POSTRIDER_API_KEY', 'pr_test_x', 'POSTRIDER_URL is missing.'],
  ])('%s alone', async (name, value, sentence) => {
    vi.stubEnv(name, value);
    expect(await run(['keys', 'list'])).toBe(2);
    expect(stderr).toContain(sentence);
  });

  it('reports every invalid environment variable', async () => {
    vi.stubEnv('PORT', 'http');
    vi.stubEnv('LOG_LEVEL', 'loud');
    expect(await run(['keys', 'list'])).toBe(2);
    expect(stderr).toMatch(/PORT: "http" is invalid[\s\S]*LOG_LEVEL: "loud" is invalid/);
  });
});

it.each(['--version', '-v', 'version'])('%s prints the version', async (flag) => {
  expect(await run([flag])).toBe(0);
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
      ['--mode live|test', '--expires DURATION|TIME', 'send:transactional', '--local'],
    ],
    [['help', 'keys', 'create'], ['--allowed-ips LIST']],
  ])('%j', async (args, texts) => {
    expect(await run(args)).toBe(0);
    for (const text of texts) expect(stdout).toContain(text);
  });
});
