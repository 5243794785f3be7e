import type { House } from './house.ts';

/**
 * One command of the command line: how it is called, what help says, and its work. Help, parsing,
 * printing and exit codes are the same for all (run-command.ts); a new command is a new file in
 * commands/ and a line in commands.ts.
 */
export interface Command {
  /** As it is typed: `keys create`. */
  name: string;
  /** One line, for the list of commands. */
  summary: string;
  /** More, for its own help. */
  details?: string;
  arguments?: readonly ArgumentRule[];
  options?: Readonly<Record<string, OptionRule>>;
  /** Returns what to tell, or an exit code when it has told everything itself. */
  run(given: Given, house: House): Promise<Told | number>;
}

export interface ArgumentRule {
  /** As usage shows it: `NAME`. */
  name: string;
  says: string;
}

export interface OptionRule {
  says: string;
  /** What its value is, as usage shows it: `live|test`. Absent: it takes none. */
  takes?: string;
  required?: boolean;
}

/** What was typed, checked against the rules. */
export interface Given {
  arguments: readonly string[];
  option(name: string): string | undefined;
  flag(name: string): boolean;
}

export interface Told {
  /** What `--json` prints: the same fields as the API. */
  data: unknown;
  /** What people read. */
  text: string;
  exitCode?: number;
}

/** The command line itself is wrong: told in a sentence, with the usage, and exit code 2. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The value of an option that the rules require. */
export function required(given: Given, name: string): string {
  const value = given.option(name);
  if (value === undefined) throw new UsageError(`--${name} is missing.`);
  return value;
}

/**
 * A list written with commas; undefined when the option was not given. One of nothing but commas, as
 * empty variables of a script make it, is refused: where a list is a limit, an empty one is none.
 */
export function listOption(given: Given, name: string): string[] | undefined {
  const parts = given.option(name)?.split(',');
  const words = parts?.map((part) => part.trim()).filter((part) => part !== '');
  if (words?.length === 0) throw new UsageError(`--${name} takes a list, and this one is empty.`);
  return words;
}
