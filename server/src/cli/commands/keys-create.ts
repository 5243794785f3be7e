import { ApiKeys, type NewApiKey, operatorIssuer, publicApiKey } from '../../accounts/api-keys.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { isScope, SCOPES, type Scope } from '../../accounts/scopes.ts';
import { systemClock } from '../../lib/clock.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { type Command, type Given, listOption, required, UsageError } from '../command.ts';
import { momentOf } from '../span.ts';
import { withStorage } from '../with-storage.ts';

const NAME_LENGTH_MAX = 100;

export const keysCreate: Command = {
  name: 'keys create',
  summary: 'Make an API key; its secret is shown this once.',
  details: `Scopes: ${SCOPES.join(', ')}.`,
  options: {
    mode: {
      takes: 'live|test',
      says: 'live sends real mail; test ends in the test inbox.',
      required: true,
    },
    scopes: {
      takes: 'LIST',
      says: 'What it may do, separated by commas, or "all".',
      required: true,
    },
    name: { takes: 'NAME', says: 'What people call it.' },
    ...WORKSPACE_OPTION,
    expires: { takes: 'SPAN|TIME', says: 'When it ends: 90d, or 2027-01-31T00:00:00Z.' },
    'allowed-domains': { takes: 'LIST', says: 'Sender domains it is limited to.' },
    'allowed-ips': { takes: 'LIST', says: 'Addresses or networks it may be used from.' },
  },
  run: (given) => {
    const mode = modeOf(required(given, 'mode'));
    const scopes = scopesOf(required(given, 'scopes'));
    const name = nameOf(given);
    const limits = limitsOf(given, systemClock.now());
    return withStorage(async (parts) => {
      const wanted: NewApiKey = {
        name: name ?? `${mode === 'live' ? 'Live' : 'Test'} key`,
        mode,
        scopes,
        ...limits,
      };
      const workspace = await chooseWorkspace(given, parts);
      const maker = operatorIssuer(workspace.id);
      const { key, token } = await new ApiKeys(parts).create(maker, wanted);
      const data = { ...publicApiKey(key), token };
      const text = [
        `Made the ${mode} key "${data.name}" (${data.id}) in the workspace "${workspace.name}".`,
        'Its secret is shown this once:',
        '',
        `  ${token}`,
      ].join('\n');
      return { data, text };
    });
  },
};

function modeOf(text: string): Mode {
  if (text === 'live' || text === 'test') return text;
  throw new UsageError(`--mode takes live or test, not "${text}".`);
}

function scopesOf(text: string): readonly Scope[] {
  if (text === 'all') return SCOPES;
  const words = text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
  const unknown = words.filter((word) => !isScope(word));
  if (unknown.length > 0 || words.length === 0) {
    const what =
      unknown.length > 0 ? `There is no scope ${unknown.join(', ')}.` : 'No scope was given.';
    throw new UsageError(`${what} --scopes takes "all", or some of ${SCOPES.join(', ')}.`);
  }
  return words.filter(isScope);
}

function nameOf(given: Given): string | undefined {
  const name = given.option('name')?.trim();
  if (name !== undefined && (name === '' || name.length > NAME_LENGTH_MAX)) {
    throw new UsageError(`--name takes 1 to ${NAME_LENGTH_MAX} characters.`);
  }
  return name;
}

function limitsOf(given: Given, nowMs: number): Partial<NewApiKey> {
  const domains = listOption(given, 'allowed-domains');
  const ips = listOption(given, 'allowed-ips');
  const expires = given.option('expires');
  return {
    ...(domains ? { allowed_domains: domains } : {}),
    ...(ips ? { allowed_ips: ips } : {}),
    ...(expires === undefined ? {} : { expires_at: momentOf('expires', expires, nowMs) }),
  };
}
