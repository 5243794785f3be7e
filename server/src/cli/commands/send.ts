import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { onTarget } from '../api/choose-target.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { type Command, type CommandInput, UsageError } from '../command.ts';

/**
 * On a database, the message is committed through the same function as by the API: it works without a
 * running server, an API key or a URL, and a running server is notified by the commit.
 */
export const send: Command = {
  name: 'send',
  summary: 'Send a message.',
  details:
    '--file takes a whole API request; the other options override its fields. On a database, the message is committed with the rights of the operator and delivered by a running server.',
  target: 'either',
  options: {
    to: { value: 'ADDRESS', description: 'Recipient address.' },
    from: { value: 'ADDRESS', description: 'Sender address on a domain of the workspace.' },
    subject: { value: 'TEXT', description: 'Subject.' },
    html: { value: 'TEXT', description: 'HTML body; @FILE reads a file.' },
    text: {
      value: 'TEXT',
      description: 'Plain text body; @FILE reads a file.',
    },
    template: {
      value: 'KEY',
      description: 'Key of a stored template, instead of subject and HTML.',
    },
    variables: { value: 'JSON', description: 'Template variables as a JSON object.' },
    stream: {
      value: 'KEY',
      description: 'Stream (default: that of the template, or transactional).',
    },
    file: { value: 'FILE', description: 'API request as a JSON file; - reads standard input.' },
    mode: {
      value: 'live|test',
      description: 'live or test (default: test, or the mode of the API key).',
    },
    ...WORKSPACE_OPTION,
    'dry-run': { description: 'Validate and render, but do not store or send.' },
  },
  run: async (input, context) => {
    const mode = modeOf(input.option('mode'));
    const dryRun = input.flag('dry-run');
    const body = await readRequest(input);
    const data = await onTarget<object>(input, {
      api: ({ client, mode: keyMode }) => {
        if (mode !== undefined && mode !== keyMode) {
          throw new UsageError(`--mode is ${mode}, but the API key is a ${keyMode} key.`);
        }
        return client.request('POST', `/transactional/${dryRun ? 'dry-run' : 'send'}`, { body });
      },
      database: async (parts) => {
        const { id: workspaceId } = await chooseWorkspace(input, parts);
        return context.send(parts, { workspaceId, mode: mode ?? 'test', body, dryRun });
      },
    });
    return { data, text: dryRun ? JSON.stringify(data, null, 2) : formatResult(data) };
  },
};

function modeOf(text: string | undefined): Mode | undefined {
  if (text === undefined || text === 'live' || text === 'test') return text;
  throw new UsageError(`--mode must be live or test, not "${text}".`);
}

async function readRequest(input: CommandInput): Promise<Record<string, unknown>> {
  const file = input.option('file');
  const body: Record<string, unknown> = file === undefined ? {} : await readRequestFile(file);
  const names = ['to', 'from', 'subject', 'template', 'stream'];
  const [to, from, subject, template, stream] = names.map((name) => input.option(name));
  if (to !== undefined) body.to = { email: to };
  if (from !== undefined) body.from = { email: from };
  if (subject !== undefined) body.subject = subject;
  for (const name of ['html', 'text']) {
    const value = input.option(name);
    if (value !== undefined) body[name] = await readValue(name, value);
  }
  if (stream !== undefined) body.stream = stream;
  if (template !== undefined) body.template_key = template;
  else if (input.option('text') !== undefined) body.html ??= '';
  const variables = input.option('variables');
  if (variables !== undefined) {
    const field = body.template_key === undefined ? 'variables' : 'template_variables';
    body[field] = parseObject('--variables', variables);
  }
  if (Object.keys(body).length === 0) {
    throw new UsageError(
      'Nothing to send: use --to, --from, --subject and --html or --text, or --file.',
    );
  }
  return body;
}

async function readRequestFile(file: string): Promise<Record<string, unknown>> {
  return parseObject(
    file,
    file === '-' ? await readAll(process.stdin) : await readValue('file', `@${file}`),
  );
}

async function readValue(option: string, value: string): Promise<string> {
  if (!value.startsWith('@')) return value;
  try {
    return await readFile(value.slice(1), 'utf8');
  } catch (error) {
    throw new UsageError(`--${option}: ${(error as Error).message}.`);
  }
}

function parseObject(where: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Invalid JSON gets the same error below.
  }
  throw new UsageError(`${where} must be a JSON object.`);
}

function formatResult(data: object): string {
  const { id, status, recipients } = data as {
    id: string;
    status: string;
    recipients: { email: string; status: string }[];
  };
  const each = recipients.map((one) => `  ${one.email}: ${one.status}`);
  return [`Accepted as ${id} (${status}).`, ...each].join('\n');
}
