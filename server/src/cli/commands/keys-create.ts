import { ApiKeys, type NewApiKey, operatorIssuer, publicApiKey } from '../../accounts/api-keys.ts';
import { isScope, SCOPES, type Scope, scopesFor } from '../../accounts/scopes.ts';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { systemClock } from '../../lib/time/clock.ts';
import { Streams } from '../../streams/streams.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import {
  type Command,
  type CommandInput,
  listOption,
  requiredOption,
  UsageError,
} from '../command.ts';
import type { DatabaseContext } from '../command-context.ts';
import { parseTimeOrDuration } from '../duration.ts';

const NAME_LENGTH_MAX = 100;

export const keysCreate: Command = {
  name: 'keys create',
  summary: 'Create an API key; its secret is shown once.',
  details: `Scopes: ${SCOPES.join(', ')}.`,
  target: 'either',
  options: {
    mode: {
      value: 'live|test',
      description: 'live sends real mail; test sends to the test inbox.',
      required: true,
    },
    scopes: {
      value: 'LIST',
      description: 'Comma-separated scopes, or "all" for those that a key of this mode can use.',
      required: true,
    },
    name: { value: 'NAME', description: 'A descriptive name.' },
    ...WORKSPACE_OPTION,
    expires: {
      value: 'DURATION|TIME',
      description: 'When it expires: 90d, or 2027-01-31T00:00:00Z.',
    },
    'allowed-domains': {
      value: 'LIST',
      description: 'Comma-separated sender domains that the key may use.',
    },
    'allowed-ips': {
      value: 'LIST',
      description: 'Comma-separated addresses or networks that may use the key.',
    },
    'allowed-streams': {
      value: 'LIST',
      description: 'Comma-separated streams that the key may send in; the first is its default.',
    },
  },
  run: async (input) => {
    const mode = parseMode(requiredOption(input, 'mode'));
    const scopes = parseScopes(requiredOption(input, 'scopes'), mode);
    const name = parseName(input);
    const limits = parseRestrictions(input, systemClock.now());
    const wanted: NewApiKey = {
      name: name ?? `${mode === 'live' ? 'Live' : 'Test'} key`,
      mode,
      scopes,
      ...limits,
    };
    const { data, where } = await onTarget<{ data: CreatedKey; where: string }>(input, {
      create: true,
      api: async ({ client, url }) => ({
        data: await client.request<CreatedKey>('POST', '/api-keys', { body: wanted }),
        where: url,
      }),
      database: async (parts) => {
        const workspace = await chooseWorkspace(input, parts);
        const issuer = operatorIssuer(workspace.id);
        await checkStreams(parts, workspace.id, wanted);
        const { key, token } = await new ApiKeys(parts).create(issuer, wanted);
        return { data: { ...publicApiKey(key), token }, where: `workspace "${workspace.name}"` };
      },
    });
    const text = [
      `Created ${mode} key "${data.name}" (${data.id}) in ${where}.`,
      'The secret is shown only once:',
      '',
      `  ${data.token}`,
    ].join('\n');
    return { data, text };
  },
};

type CreatedKey = ReturnType<typeof publicApiKey> & { token: string };

async function checkStreams(
  parts: DatabaseContext,
  workspaceId: string,
  { allowed_streams: keys = [] }: NewApiKey,
): Promise<void> {
  const errors = await new Streams(parts).errorsIn(
    workspaceId,
    keys.map((key) => ({ key, pointer: '/allowed_streams' })),
  );
  if (errors[0]) throw new UsageError(errors[0].detail);
}

function parseMode(text: string): Mode {
  if (text === 'live' || text === 'test') return text;
  throw new UsageError(`--mode must be live or test, not "${text}".`);
}

function parseScopes(text: string, mode: Mode): readonly Scope[] {
  if (text === 'all') return scopesFor(mode);
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  const unknown = names.filter((name) => !isScope(name));
  if (unknown.length > 0 || names.length === 0) {
    const what = unknown.length > 0 ? `Unknown scope: ${unknown.join(', ')}.` : 'No scopes given.';
    throw new UsageError(`${what} --scopes must be "all" or some of ${SCOPES.join(', ')}.`);
  }
  return names.filter(isScope);
}

function parseName(input: CommandInput): string | undefined {
  const name = input.option('name')?.trim();
  if (name !== undefined && (name === '' || name.length > NAME_LENGTH_MAX)) {
    throw new UsageError(`--name must have 1 to ${NAME_LENGTH_MAX} characters.`);
  }
  return name;
}

function parseRestrictions(input: CommandInput, nowMs: number): Partial<NewApiKey> {
  const domains = listOption(input, 'allowed-domains');
  const ips = listOption(input, 'allowed-ips');
  const streams = listOption(input, 'allowed-streams');
  const expires = input.option('expires');
  return {
    ...(domains ? { allowed_domains: domains } : {}),
    ...(ips ? { allowed_ips: ips } : {}),
    ...(streams ? { allowed_streams: streams } : {}),
    ...(expires === undefined
      ? {}
      : { expires_at: parseTimeOrDuration('expires', expires, nowMs) }),
  };
}
