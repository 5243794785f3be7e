import { columns } from './columns.ts';
import type { Command } from './command.ts';

/** Help is made from the commands themselves. */

export function overview(commands: readonly Command[]): string {
  const rows = commands.map((command) => [`  ${callOf(command)}`, command.summary]);
  return [
    'Postrider: a transactional e-mail service that anyone can run.',
    '',
    'Usage: postrider COMMAND [options]',
    '',
    columns(rows),
    '',
    'Every command takes --json (answers for programs) and --help (its options).',
    'Commands work on the database of DATA_DIR or DATABASE_URL, while a server runs or not.',
  ].join('\n');
}

export function commandHelp(command: Command): string {
  const argumentRows = (command.arguments ?? []).map(({ name, says }) => [`  ${name}`, says]);
  const optionRows = Object.entries(command.options ?? {}).map(([name, { takes, says }]) => [
    `  --${name}${takes === undefined ? '' : ` ${takes}`}`,
    says,
  ]);
  const rows = [
    ...argumentRows,
    ...optionRows,
    ['  --json', 'Answer with JSON: the same fields as the API.'],
  ];
  return [
    `${command.summary}${command.details === undefined ? '' : `\n\n${command.details}`}`,
    usageOf(command),
    columns(rows),
  ].join('\n\n');
}

export function usageOf(command: Command): string {
  const options = Object.entries(command.options ?? {}).map(([name, { takes, required }]) => {
    const call = `--${name}${takes === undefined ? '' : ` ${takes}`}`;
    return required ? call : `[${call}]`;
  });
  return `Usage: postrider ${[callOf(command), ...options].join(' ')}`;
}

function callOf({ name, arguments: wanted = [] }: Command): string {
  return [name, ...wanted.map((argument) => argument.name)].join(' ');
}
