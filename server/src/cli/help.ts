import type { Command } from './command.ts';
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
    'Every command takes --json (machine-readable output) and --help.',
    'Commands use the database of DATA_DIR or DATABASE_URL, whether or not a server is running.',
  ].join('\n');
}

export function commandHelp(command: Command): string {
  const argumentRows = (command.arguments ?? []).map(({ name, description }) => [
    `  ${name}`,
    description,
  ]);
  const optionRows = Object.entries(command.options ?? {}).map(([name, { value, description }]) => [
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
  ].join('\n\n');
}

export function usageOf(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, { value, required }]) => {
    const call = `--${name}${value === undefined ? '' : ` ${value}`}`;
    return required ? call : `[${call}]`;
  });
  return `Usage: postrider ${[synopsis(command), ...options].join(' ')}`;
}

function synopsis({ name, arguments: wanted = [] }: Command): string {
  return [name, ...wanted.map((argument) => argument.name)].join(' ');
}
