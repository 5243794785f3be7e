import { readFile } from 'node:fs/promises';
import { text as readAll } from 'node:stream/consumers';
import type { Mode } from '../../accounts/tenant-scope.ts';
import { chooseWorkspace, WORKSPACE_OPTION } from '../choose-workspace.ts';
import { type Command, type Given, UsageError } from '../command.ts';
import { withStorage } from '../with-storage.ts';

/**
 * Straight into the database, by the same function as behind the doors: it works while no server
 * runs and needs neither a key nor an address of one. A server that runs is woken by the commit.
 */
export const send: Command = {
  name: 'send',
  summary: 'Send a message with the operator’s authority.',
  details:
    'It is committed to the database and leaves when a server runs. A whole request as the API takes it comes by --file; the other options change its fields.',
  options: {
    to: { takes: 'ADDRESS', says: 'The recipient.' },
    from: { takes: 'ADDRESS', says: 'The sender, on a domain of the workspace.' },
    subject: { takes: 'TEXT', says: 'The subject.' },
    html: { takes: 'TEXT', says: 'The html; @FILE reads it from a file.' },
    text: {
      takes: 'TEXT',
      says: 'The text, alone or beside the html; @FILE reads it from a file.',
    },
    template: { takes: 'KEY', says: 'A stored template instead of subject and html.' },
    variables: { takes: 'JSON', says: 'Values for the placeholders, as a JSON object.' },
    file: { takes: 'FILE', says: 'A request as JSON; - reads standard input.' },
    mode: { takes: 'live|test', says: 'test, the default, ends in the test inbox.' },
    ...WORKSPACE_OPTION,
    'dry-run': { says: 'Check and render everything, store and send nothing.' },
  },
  run: async (given, house) => {
    const mode = modeOf(given.option('mode') ?? 'test');
    const dryRun = given.flag('dry-run');
    const body = await bodyOf(given);
    return withStorage(async (parts) => {
      const { id: workspaceId } = await chooseWorkspace(given, parts);
      const data = await house.send(parts, { workspaceId, mode, body, dryRun });
      return { data, text: dryRun ? JSON.stringify(data, null, 2) : told(data) };
    });
  },
};

function modeOf(text: string): Mode {
  if (text === 'live' || text === 'test') return text;
  throw new UsageError(`--mode takes live or test, not "${text}".`);
}

async function bodyOf(given: Given): Promise<Record<string, unknown>> {
  const file = given.option('file');
  const body: Record<string, unknown> = file === undefined ? {} : await requestIn(file);
  const [to, from, subject, template] = ['to', 'from', 'subject', 'template'].map((name) =>
    given.option(name),
  );
  if (to !== undefined) body.to = { email: to };
  if (from !== undefined) body.from = { email: from };
  if (subject !== undefined) body.subject = subject;
  for (const name of ['html', 'text']) {
    const value = given.option(name);
    if (value !== undefined) body[name] = await contentOf(name, value);
  }
  if (template !== undefined) body.template_key = template;
  else if (given.option('text') !== undefined) body.html ??= '';
  const variables = given.option('variables');
  if (variables !== undefined) {
    const field = body.template_key === undefined ? 'variables' : 'template_variables';
    body[field] = objectOf('--variables', variables);
  }
  if (Object.keys(body).length === 0) {
    throw new UsageError(
      'Say what to send: --to, --from, --subject and --html or --text, or --file.',
    );
  }
  return body;
}

async function requestIn(file: string): Promise<Record<string, unknown>> {
  return objectOf(
    file,
    file === '-' ? await readAll(process.stdin) : await contentOf('file', `@${file}`),
  );
}

async function contentOf(option: string, value: string): Promise<string> {
  if (!value.startsWith('@')) return value;
  try {
    return await readFile(value.slice(1), 'utf8');
  } catch (error) {
    throw new UsageError(`--${option}: ${(error as Error).message}.`);
  }
}

function objectOf(where: string, text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
  } catch {
    // Said below, the same for what is no JSON at all.
  }
  throw new UsageError(`${where} does not hold a JSON object.`);
}

function told(data: object): string {
  const { id, status, recipients } = data as {
    id: string;
    status: string;
    recipients: { email: string; status: string }[];
  };
  const each = recipients.map((one) => `  ${one.email}: ${one.status}`);
  return [`Accepted as ${id} (${status}).`, ...each].join('\n');
}
