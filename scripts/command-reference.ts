import type { Command } from '../server/src/cli/command.ts';
import { COMMANDS } from '../server/src/cli/commands.ts';
import { commandHelp } from '../server/src/cli/help.ts';

/** The generated part of docs/cli.md: a table of all commands, then the help of each, by topic. */
export function commandReference(): string {
  const sections = [...Map.groupBy(COMMANDS, topicOf)].flatMap(([topic, commands]) => [
    `## ${topic}`,
    ...commands.map(section),
  ]);
  return [overviewTable(), ...sections].join('\n\n');
}

const TOPICS: Readonly<Record<string, string>> = {
  start: 'Server',
  router: 'Server',
  doctor: 'Server',
  backup: 'Server',
  queue: 'Server',
  login: 'Server over HTTP',
  logout: 'Server over HTTP',
  whoami: 'Server over HTTP',
  workspaces: 'Workspaces',
  people: 'People',
  keys: 'API keys',
  'operator-keys': 'Operator keys',
  domains: 'Domains',
  streams: 'Streams',
  suppressions: 'Suppressions',
  templates: 'Templates',
  send: 'Messages',
  messages: 'Messages',
  events: 'Events and webhooks',
  webhooks: 'Events and webhooks',
};

function topicOf({ name }: Command): string {
  const [first = ''] = name.split(' ');
  const topic = TOPICS[first];
  if (topic === undefined) throw new Error(`No topic for the command "${name}"`);
  return topic;
}

function overviewTable(): string {
  const rows = COMMANDS.map(
    ({ name, summary }) => `| [\`${name}\`](#${name.replaceAll(' ', '-')}) | ${summary} |`,
  );
  return ['| Command | Description |', '|---|---|', ...rows].join('\n');
}

function section(command: Command): string {
  return `### ${command.name}\n\n\`\`\`text\n${commandHelp(command)}\n\`\`\``;
}
