import { type CommandInput, UsageError } from './command.ts';

/** A positive number; undefined when the option is absent. */
export function countOption(input: CommandInput, name: string): number | undefined {
  const text = input.option(name);
  if (text === undefined) return undefined;
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text);
  throw new UsageError(`--${name} must be a positive number, not "${text}".`);
}
