import type { Command, OptionSpec } from './command.ts';
import { formatTable } from './format-table.ts';

/** Help texts, generated from the commands. */

export function commandList(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  ${synopsis(command)}`, command.summary]);
  return [
    'Postrider: a self-hosted transactional email service.',
    '',
    'Usage: postrider COMMAND [options]',
    '',
    formatTable(rows),
    '',
    'Every command takes --json (machine-readable output), --no-color and --help.',
    '',
    'keys, domains, streams, templates and send use a server over HTTP if POSTRIDER_URL and',
    'POSTRIDER_API_KEY are set, or after "postrider login" unless DATA_DIR or DATABASE_URL is set.',
    'Otherwise, and with --local, they use the database. messages, events and webhooks always use',
    'a server. All other commands always use the database of DATA_DIR or DATABASE_URL (default:',
    './data), whether or not a server is running. "postrider whoami" shows what applies.',
  ].join('\n');
}

const COMMAND_TARGETS: Record<NonNullable<Command['target']>, string | undefined> = {
  database: undefined,
  api: 'Needs a running server: set POSTRIDER_URL and POSTRIDER_API_KEY, or run "postrider login URL".',
  either:
    'Uses a server over HTTP with POSTRIDER_URL and POSTRIDER_API_KEY, or after "postrider login";\n' +
    'otherwise the database of DATA_DIR or DATABASE_URL.',
};

export function commandHelp(command: Command): string {
  const argumentRows = (command.arguments ?? []).map(({ name, description }) => [
    `  ${name}`,
    description,
  ]);
  const optionRows = Object.entries(optionsOf(command)).map(([name, { value, description }]) => [
    `  --${name}${value === undefined ? '' : ` ${value}`}`,
    description,
  ]);
  const rows = [
    ...argumentRows,
    ...optionRows,
    ['  --json', 'Print JSON, with the same fields as the API.'],
  ];
  return [
    `${command.summary}${command.details === undefined ? '' : `\n\n${command.details}`}`,
    usageOf(command),
    formatTable(rows),
    COMMAND_TARGETS[command.target ?? 'database'],
  ]
    .filter((part) => part !== undefined)
    .join('\n\n');
}

export function usageOf(command: Command): string {
  const options = Object.entries(optionsOf(command)).map(([name, { value, required }]) => {
    const call = `--${name}${value === undefined ? '' : ` ${value}`}`;
    return required ? call : `[${call}]`;
  });
  return `Usage: postrider ${[synopsis(command), ...options].join(' ')}`;
}

const LOCAL_OPTION = {
  local: { description: 'Use the database, even if you are logged in to a server.' },
} as const;

/** The options of a command itself, without those of all commands. */
export function optionsOf(command: Command): Readonly<Record<string, OptionSpec>> {
  return { ...command.options, ...(command.target === 'either' ? LOCAL_OPTION : {}) };
}

function synopsis({ name, arguments: wanted = [] }: Command): string {
  return [name, ...wanted.map((argument) => argument.name)].join(' ');
}
