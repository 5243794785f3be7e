import type { CommandContext } from './command-context.ts';
import type { Screen } from './terminal.ts';

/**
 * A command: how it is called, its help, and its implementation. Help, parsing, printing and exit
 * codes are shared (run-command.ts); a new command is a new file in commands/ and a line in
 * commands.ts.
 */
export interface Command {
  /** As typed: `keys create`. */
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** Additional text for the command's own help. */
  details?: string;
  arguments?: readonly ArgumentSpec[];
  options?: Readonly<Record<string, OptionSpec>>;
  /**
   * What the command works on: a database (default), a running server's API, or either of them
   * (api/choose-target.ts).
   */
  target?: 'database' | 'api' | 'either';
  /** Returns the result to print, or an exit code when there is nothing to print. */
  run(input: CommandInput, context: CommandContext): Promise<CommandResult | number>;
}

export interface ArgumentSpec {
  /** The placeholder in usage: `NAME`. */
  name: string;
  description: string;
}

export interface OptionSpec {
  description: string;
  /** The placeholder of its value in usage, such as `live|test`. Absent for flags. */
  value?: string;
  required?: boolean;
}

/** The parsed and validated command line. */
export interface CommandInput {
  arguments: readonly string[];
  option(name: string): string | undefined;
  flag(name: string): boolean;
}

export interface CommandResult {
  /** Printed with `--json`: the same fields as in the API. */
  data: unknown;
  /** Printed otherwise. Control characters of a string are replaced. */
  text: string | Screen;
  exitCode?: number;
}

/** An invalid command line: printed with the usage, exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The value of a required option. */
export function requiredOption(input: CommandInput, name: string): string {
  const value = input.option(name);
  if (value === undefined) throw new UsageError(`Missing option --${name}.`);
  return value;
}

/**
 * A comma-separated list; undefined when the option is absent. A list of nothing but commas, which
 * empty shell variables produce, is rejected: where a list restricts access, an empty one would
 * not.
 */
export function listOption(input: CommandInput, name: string): string[] | undefined {
  const parts = input.option(name)?.split(',');
  const items = parts?.map((part) => part.trim()).filter((part) => part !== '');
  if (items?.length === 0) throw new UsageError(`--${name} must not be an empty list.`);
  return items;
}
