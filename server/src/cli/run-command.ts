import { parseArgs } from 'node:util';
import { ConfigError } from '../config/read-config.ts';
import { StorageStartError } from '../db/database-errors.ts';
import { didYouMean } from '../lib/did-you-mean.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { VERSION } from '../version.ts';
import { type Command, type CommandInput, type OptionSpec, UsageError } from './command.ts';
import type { CommandContext } from './command-context.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, commandList, usageOf } from './help.ts';
import { InterruptedError } from './with-database.ts';

/**
 * Runs a command line and returns the exit code: 0 success, 1 failure or a failed check, 2 invalid
 * usage. Results go to standard output, everything else to standard error, so that `--json` can be
 * piped.
 */
export async function runCommand(
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  const rest = args.filter((arg) => arg !== 'help' || args.indexOf(arg) > 0);
  const wantsHelp =
    rest.length < args.length || rest.some((arg) => arg === '--help' || arg === '-h');
  const positionals = rest.filter((arg) => !arg.startsWith('-'));
  if (['--version', '-v', 'version'].includes(args[0] ?? '')) return print(VERSION);
  const command = findCommand(positionals);
  if (!command) return helpOrUsageError(rest, positionals, wantsHelp);
  if (wantsHelp) return print(commandHelp(command));
  return execute(command, args, context);
}

/** The output may contain a secret that is shown only once, so a script must notice the failure. */
export function onOutputError({ code, message }: NodeJS.ErrnoException): void {
  // The reader has closed the pipe.
  if (code === 'EPIPE') return;
  console.error(`Writing the output failed: ${message}.`);
  process.exitCode = 1;
}

/** Suggestions for a mistyped command: full names and their first words. */
const NAMES = [
  ...new Set(['help', ...COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] as string])]),
];

/** The command with the longest matching name. */
function findCommand(positionals: readonly string[]): Command | undefined {
  return COMMANDS.filter(
    ({ name }) => name === positionals.slice(0, name.split(' ').length).join(' '),
  )
    .sort((a, b) => b.name.length - a.name.length)
    .at(0);
}

function helpOrUsageError(
  rest: readonly string[],
  positionals: readonly string[],
  wantsHelp: boolean,
): number {
  const [first] = positionals;
  const [option] = rest;
  if (first === undefined) {
    if (wantsHelp || option === undefined) return print(commandList(COMMANDS));
    return printError(`Unknown option ${option}.`, commandList(COMMANDS));
  }
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0 && (wantsHelp || positionals.length === 1)) return print(commandList(group));
  const given = positionals.slice(0, group.length > 0 ? 2 : 1).join(' ');
  const suggestion = didYouMean(given, NAMES);
  return printError(
    `Unknown command "${given}".${suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`}`,
    commandList(group.length > 0 ? group : COMMANDS),
  );
}

async function execute(
  command: Command,
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  const json = args.includes('--json');
  try {
    const result = await command.run(parseInput(command, args), context);
    if (typeof result === 'number') return result;
    print(json ? JSON.stringify(result.data, null, 2) : stripControlCharacters(result.text));
    return result.exitCode ?? 0;
  } catch (error) {
    return reportError(error, command, json);
  }
}

/**
 * Tenants and their DNS zones control much of the output: it must not control the operator's
 * terminal.
 */
function stripControlCharacters(text: string): string {
  return text.replace(/(?!\r\n)[^\P{Cc}\n\t]/gu, '\ufffd');
}

function parseInput(command: Command, args: readonly string[]): CommandInput {
  const rules: Record<string, OptionSpec> = { json: { description: '' }, ...command.options };
  const { tokens } = parseArgs({
    args: args.slice(),
    options: Object.fromEntries(
      Object.entries(rules).map(([name, { value }]) => [
        name,
        { type: value === undefined ? 'boolean' : 'string' } as const,
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
    if (!rule) throw new UsageError(`Unknown option ${token.rawName}.`);
    if (rule.value === undefined && token.value !== undefined) {
      throw new UsageError(`${token.rawName} does not take a value.`);
    }
    if (rule.value !== undefined && (token.value === undefined || token.value === '')) {
      throw new UsageError(`${token.rawName} requires a value: ${rule.value}.`);
    }
    // The value was probably forgotten: "--subject --dry-run" would send a real message.
    if (token.value?.startsWith('--') && !token.inlineValue) {
      const hint = `To pass ${token.value} as the value, write ${token.rawName}=${token.value}.`;
      throw new UsageError(`${token.rawName} requires a value: ${rule.value}. ${hint}`);
    }
    if (values.has(token.name)) throw new UsageError(`${token.rawName} was given more than once.`);
    values.set(token.name, token.value ?? true);
  }
  const positionals = tokens.flatMap((token) => (token.kind === 'positional' ? [token.value] : []));
  const given = positionals.slice(command.name.split(' ').length);
  checkArgumentCount(command, given);
  for (const [name, rule] of Object.entries(command.options ?? {})) {
    if (rule.required && !values.has(name))
      throw new UsageError(`Missing option --${name}: ${rule.description}`);
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

function checkArgumentCount(command: Command, given: readonly string[]): void {
  const wanted = command.arguments ?? [];
  const missing = wanted[given.length];
  if (missing) throw new UsageError(`Missing argument ${missing.name}: ${missing.description}`);
  const extra = given[wanted.length];
  if (extra !== undefined) throw new UsageError(`Unexpected argument "${extra}".`);
}

function reportError(error: unknown, command: Command, json: boolean): number {
  if (error instanceof UsageError) {
    return printError(
      error.message,
      `${usageOf(command)}\n\nMore: postrider ${command.name} --help`,
    );
  }
  if (error instanceof ConfigError) return printError(error.message);
  if (error instanceof RefusedError) {
    const { code, message: detail, errors } = error;
    if (json) return printError(JSON.stringify({ code, detail, errors }, null, 2));
    return printError(formatRefusal(error, command));
  }
  if (error instanceof StorageStartError || isFileSystemError(error)) {
    console.error(error.message);
    return 1;
  }
  // Everything is closed: end by the signal as if it had not been caught, which shells understand.
  if (error instanceof InterruptedError) return exitBySignal(error.signal);
  console.error(error);
  return 1;
}

/** For instance a read-only directory or a full disk: the system's message names the cause. */
function isFileSystemError(error: unknown): error is Error {
  const { syscall, path } = error as NodeJS.ErrnoException;
  return error instanceof Error && syscall !== undefined && path !== undefined;
}

function exitBySignal(signal: NodeJS.Signals): number {
  process.kill(process.pid, signal);
  return 1;
}

/** The refusal with its field errors, and a hint to the command that helps. */
function formatRefusal({ code, message, errors }: RefusedError, command: Command): string {
  const [only] = errors;
  const lines = errors.map((error) => formatFieldError(error, command));
  const summary =
    errors.length === 1 && only && message.endsWith(only.detail)
      ? [lines[0]?.trim()]
      : [message, ...lines];
  return [...summary, HINTS[code]].filter((line) => line !== undefined).join('\n');
}

const HINTS: Partial<Record<string, string>> = {
  workspace_suspended: '→ Run "postrider workspaces resume" to let it send again.',
  domain_not_owned: '→ Run "postrider domains add NAME" to add it; test mode accepts any domain.',
  domain_not_verified: '→ Run "postrider domains verify NAME" to see which records are missing.',
  template_not_found: '→ Run "postrider templates pull DIR" to see the existing templates.',
};

/** A field error, named by the option or argument that it came from. */
function formatFieldError(error: RefusedError['errors'][number], command: Command): string {
  const field = error.pointer ?? error.parameter ?? '';
  const name = field.split('/')[1]?.replaceAll('_', '-') ?? '';
  const option = [name, name.replace(/-(at|key|seconds)$/, '')].find(
    (one) => command.options?.[one],
  );
  const argument = command.arguments?.find((one) => one.name === name.toUpperCase())?.name;
  const position = error.line === undefined ? '' : ` (line ${error.line}, column ${error.column})`;
  return `  ${option === undefined ? (argument ?? field) : `--${option}`}${position}: ${error.detail}`;
}

function printError(sentence: string, more?: string): number {
  console.error(more === undefined ? sentence : `${sentence}\n\n${more}`);
  return 2;
}

function print(text: string): number {
  console.log(text);
  return 0;
}
