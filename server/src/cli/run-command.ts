import { parseArgs } from 'node:util';
import { ConfigError } from '../config/read-config.ts';
import { StorageStartError } from '../db/connections/database-errors.ts';
import { didYouMean } from '../lib/did-you-mean.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { VERSION } from '../version.ts';
import { ApiError, UnreachableError } from './api/api-client.ts';
import { type Command, type CommandInput, type OptionSpec, UsageError } from './command.ts';
import type { CommandContext } from './command-context.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, commandList, optionsOf, usageOf } from './help.ts';
import { runAudited } from './running-command.ts';
import { disableColors, lines, type Piece, paint, render } from './terminal.ts';
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
  const [first, second] = positionals;
  const json = rest.includes('--json');
  const option = rest.find((arg) => !GLOBAL_OPTIONS.some((name) => arg === `--${name}`));
  if (first === undefined) {
    if (wantsHelp || option === undefined) return print(commandList(COMMANDS));
    return printUsageError(`Unknown option ${option}.`, GENERAL_USAGE, json);
  }
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0 && (wantsHelp || second === undefined)) return print(commandList(group));
  // "key create" is nearer to "keys create" than "key" to anything.
  const whole = second === undefined ? undefined : didYouMean(`${first} ${second}`, NAMES);
  const given = group.length > 0 || whole !== undefined ? `${first} ${second}` : first;
  const suggestion = whole ?? didYouMean(given, NAMES);
  return printUsageError(
    `Unknown command "${given}".${suggestion === undefined ? '' : ` Did you mean "${suggestion}"?`}`,
    // The whole list would scroll the error away.
    group.length > 0 ? commandList(group) : GENERAL_USAGE,
    json,
  );
}

/** Options of every command. */
const GLOBAL_OPTIONS = ['json', 'no-color'];

const GENERAL_USAGE = 'Usage: postrider COMMAND [options]\n\nAll commands: postrider help';

async function execute(
  command: Command,
  args: readonly string[],
  context: CommandContext,
): Promise<number> {
  const json = args.includes('--json');
  if (args.includes('--no-color')) disableColors();
  try {
    const input = parseInput(command, args);
    const options = Object.keys(command.options ?? {}).flatMap((name) =>
      input.flag(name) ? [[name, input.option(name) ?? true] as const] : [],
    );
    const given = { arguments: input.arguments, options: Object.fromEntries(options) };
    const result = await runAudited({ name: command.name, given }, () =>
      command.run(input, context),
    );
    if (typeof result === 'number') return result;
    print(json ? JSON.stringify(result.data, null, 2) : render(result.text, process.stdout));
    return result.exitCode ?? 0;
  } catch (error) {
    return reportError(error, command, json);
  }
}

function parseInput(command: Command, args: readonly string[]): CommandInput {
  const rules: Record<string, OptionSpec> = {
    ...Object.fromEntries(GLOBAL_OPTIONS.map((name) => [name, { description: '' }])),
    ...optionsOf(command),
  };
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
    if (!rule) throw new UsageError(unknownOption(token.rawName, Object.keys(rules)));
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

function unknownOption(rawName: string, known: readonly string[]): string {
  const meant = rawName.startsWith('--') ? didYouMean(rawName.slice(2), known) : undefined;
  return `Unknown option ${rawName}.${meant === undefined ? '' : ` Did you mean --${meant}?`}`;
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
    const usage = `${usageOf(command)}\n\nMore: postrider ${command.name} --help`;
    return printUsageError(error.message, usage, json);
  }
  if (error instanceof ConfigError) {
    return printError(error.message, { code: 'invalid_configuration', json });
  }
  if (error instanceof RefusedError) {
    printError(formatRefusal(error, command), { ...problemOf(error), json });
    return error instanceof ApiError && !isInputProblem(error) ? 1 : 2;
  }
  if (error instanceof UnreachableError) {
    printError(error.message, { code: 'unreachable', json });
    return 1;
  }
  if (error instanceof StorageStartError || isFileSystemError(error)) {
    printError(error.message, { code: 'failed', json });
    return 1;
  }
  // Everything is closed: end by the signal as if it had not been caught, which shells understand.
  if (error instanceof InterruptedError) return exitBySignal(error.signal);
  console.error(error);
  return 1;
}

/** Whether another command line would have succeeded, rather than another key or a later attempt. */
function isInputProblem({ status }: ApiError): boolean {
  return status < 500 && status !== 401 && status !== 429;
}

/** The fields of a problem as the API returns them, as far as they are known. */
function problemOf(error: RefusedError): Problem {
  const { code, message: detail, errors, fix } = error;
  const { title, status, requestId } = error instanceof ApiError ? error : {};
  return {
    ...(title === undefined ? {} : { title, status }),
    code,
    detail,
    ...(fix === undefined ? {} : { fix }),
    errors,
    ...(requestId === undefined ? {} : { request_id: requestId }),
  };
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

/** The refusal with its field errors, and what to do about it. */
function formatRefusal(error: RefusedError, command: Command): Piece {
  const { code, message, errors } = error;
  const [only] = errors;
  const fields = errors.map((one) => formatFieldError(one, command));
  const isRepeated = errors.length === 1 && only !== undefined && message.endsWith(only.detail);
  const { title, requestId } = error instanceof ApiError ? error : {};
  const advice = error instanceof ApiError ? error.fix : (HINTS[code] ?? error.fix);
  return lines([
    ...(title === undefined ? [] : [paint('red', title)]),
    ...(isRepeated ? [fields[0]?.trim() ?? ''] : [message, ...fields]),
    ...(advice === undefined ? [] : [`→ ${advice}`]),
    ...(requestId ? [paint('dim', `Request ${requestId}`)] : []),
  ]);
}

const HINTS: Partial<Record<string, string>> = {
  workspace_suspended: 'Run "postrider workspaces resume" to let it send again.',
  domain_not_owned: 'Run "postrider domains add NAME" to add it; test mode accepts any domain.',
  domain_not_verified: 'Run "postrider domains verify NAME" to see which records are missing.',
  template_not_found: 'Run "postrider templates pull DIR" to see the existing templates.',
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

interface Problem {
  code: string;
  [field: string]: unknown;
}

function printUsageError(detail: string, usage: string, json: boolean): number {
  const text = lines([paint('red', detail), '', usage]);
  return printError(text, { code: 'invalid_usage', detail, json });
}

/** With `--json`, errors are JSON too, on standard error. */
function printError(text: Piece, { json, ...problem }: Problem & { json: boolean }): number {
  const shown = { detail: typeof text === 'string' ? text : undefined, ...problem };
  console.error(json ? JSON.stringify(shown, null, 2) : render(text, process.stderr));
  return 2;
}

function print(text: string): number {
  console.log(text);
  return 0;
}
