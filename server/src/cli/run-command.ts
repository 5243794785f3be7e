import { parseArgs } from 'node:util';
import { RefusedError } from '../base/refused-error.ts';
import { ConfigError } from '../config/read-config.ts';
import { StorageStartError } from '../storage/start-error.ts';
import { VERSION } from '../version.ts';
import { type Command, type Given, type OptionRule, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, overview, usageOf } from './help.ts';
import type { House } from './house.ts';

/**
 * A command line comes in, an exit code goes out: 0 done, 1 it could not be done or what was looked
 * at is not in order, 2 it was asked for wrongly. Answers go to standard output, everything else to
 * standard error, so that `--json` can be piped.
 */
export async function runCommand(args: readonly string[], house: House): Promise<number> {
  const asked = args.filter((arg) => arg !== 'help' || args.indexOf(arg) > 0);
  const wantsHelp =
    asked.length < args.length || asked.some((arg) => arg === '--help' || arg === '-h');
  const words = asked.filter((arg) => !arg.startsWith('-'));
  if (args[0] === '--version') return print(VERSION);
  const command = commandOf(words);
  if (!command) return listOrMistake(words, wantsHelp);
  if (wantsHelp) return print(commandHelp(command));
  return perform(command, args, house);
}

/** The longest name that the words begin with. */
function commandOf(words: readonly string[]): Command | undefined {
  return COMMANDS.filter(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
    .sort((a, b) => b.name.length - a.name.length)
    .at(0);
}

function listOrMistake(words: readonly string[], wantsHelp: boolean): number {
  const [first] = words;
  if (first === undefined) return print(overview(COMMANDS));
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0 && (wantsHelp || words.length === 1)) return print(overview(group));
  return mistake(
    `There is no command "${words.slice(0, 2).join(' ')}".`,
    overview(group.length > 0 ? group : COMMANDS),
  );
}

async function perform(command: Command, args: readonly string[], house: House): Promise<number> {
  const json = args.includes('--json');
  try {
    const told = await command.run(givenOf(command, args), house);
    if (typeof told === 'number') return told;
    print(json ? JSON.stringify(told.data, null, 2) : told.text);
    return told.exitCode ?? 0;
  } catch (error) {
    return failed(error, command, json);
  }
}

function givenOf(command: Command, args: readonly string[]): Given {
  const rules: Record<string, OptionRule> = { json: { says: '' }, ...command.options };
  const { tokens } = parseArgs({
    args: args.slice(),
    options: Object.fromEntries(
      Object.entries(rules).map(([name, { takes }]) => [
        name,
        { type: takes === undefined ? 'boolean' : 'string' } as const,
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, string | true>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const rule = Object.hasOwn(rules, token.name) ? rules[token.name] : undefined;
    if (!rule) throw new UsageError(`There is no option ${token.rawName}.`);
    if (rule.takes === undefined && token.value !== undefined) {
      throw new UsageError(`${token.rawName} takes no value.`);
    }
    if (rule.takes !== undefined && (token.value === undefined || token.value === '')) {
      throw new UsageError(`${token.rawName} takes a value: ${rule.takes}.`);
    }
    values.set(token.name, token.value ?? true);
  }
  const positionals = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  const given = positionals.slice(command.name.split(' ').length);
  refuseWrongCount(command, given);
  for (const [name, rule] of Object.entries(command.options ?? {})) {
    if (rule.required && !values.has(name))
      throw new UsageError(`--${name} is missing: ${rule.says}`);
  }
  return {
    arguments: given,
    option: (name) => {
      const value = values.get(name);
      return typeof value === 'string' ? value : undefined;
    },
    flag: (name) => values.has(name),
  };
}

function refuseWrongCount(command: Command, given: readonly string[]): void {
  const wanted = command.arguments ?? [];
  const missing = wanted[given.length];
  if (missing) throw new UsageError(`${missing.name} is missing: ${missing.says}`);
  const extra = given[wanted.length];
  if (extra !== undefined) throw new UsageError(`"${extra}" is one word too many.`);
}

function failed(error: unknown, command: Command, json: boolean): number {
  if (error instanceof UsageError) {
    return mistake(error.message, `${usageOf(command)}\n\nMore: postrider ${command.name} --help`);
  }
  if (error instanceof ConfigError) return mistake(error.message);
  if (error instanceof RefusedError) {
    const { code, message: detail, errors } = error;
    if (json) return mistake(JSON.stringify({ code, detail, errors }, null, 2));
    return mistake([detail, ...errors.map((error) => fieldLine(error, command))].join('\n'));
  }
  if (error instanceof StorageStartError) {
    console.error(error.message);
    return 1;
  }
  console.error(error);
  return 1;
}

/** A fault of a field, by the option that it came from when there is one. */
function fieldLine(error: RefusedError['errors'][number], command: Command): string {
  const field = error.pointer ?? error.parameter ?? '';
  const name = field.split('/')[1]?.replaceAll('_', '-') ?? '';
  const option = [name, name.replace(/-at$/, '')].find((one) => command.options?.[one]);
  const place = error.line === undefined ? '' : ` (line ${error.line}, column ${error.column})`;
  return `  ${option === undefined ? field : `--${option}`}${place}: ${error.detail}`;
}

function mistake(sentence: string, more?: string): number {
  console.error(more === undefined ? sentence : `${sentence}\n\n${more}`);
  return 2;
}

function print(text: string): number {
  console.log(text);
  return 0;
}
