import { parseArgs } from 'node:util';
import { ConfigError } from '../config/read-config.ts';
import { StorageStartError } from '../db/start-error.ts';
import { didYouMean } from '../lib/did-you-mean.ts';
import { RefusedError } from '../lib/refused-error.ts';
import { VERSION } from '../version.ts';
import { type Command, type Given, type OptionRule, UsageError } from './command.ts';
import { COMMANDS } from './commands.ts';
import { commandHelp, overview, usageOf } from './help.ts';
import type { House } from './house.ts';
import { InterruptedError } from './while-open.ts';

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
  if (['--version', '-v', 'version'].includes(args[0] ?? '')) return print(VERSION);
  const command = commandOf(words);
  if (!command) return listOrMistake(asked, words, wantsHelp);
  if (wantsHelp) return print(commandHelp(command));
  return perform(command, args, house);
}

/** A secret that is shown once may be in it: a script must not go on as if it had been written. */
export function answerIsLost({ code, message }: NodeJS.ErrnoException): void {
  // Whoever reads has read enough.
  if (code === 'EPIPE') return;
  console.error(`The answer could not be written: ${message}.`);
  process.exitCode = 1;
}

/** What may be meant by a first word, or by two. */
const NAMES = [
  ...new Set(['help', ...COMMANDS.flatMap(({ name }) => [name, name.split(' ')[0] as string])]),
];

/** The longest name that the words begin with. */
function commandOf(words: readonly string[]): Command | undefined {
  return COMMANDS.filter(({ name }) => name === words.slice(0, name.split(' ').length).join(' '))
    .sort((a, b) => b.name.length - a.name.length)
    .at(0);
}

function listOrMistake(
  asked: readonly string[],
  words: readonly string[],
  wantsHelp: boolean,
): number {
  const [first] = words;
  const [option] = asked;
  if (first === undefined) {
    if (wantsHelp || option === undefined) return print(overview(COMMANDS));
    return mistake(`There is no option ${option} without a command.`, overview(COMMANDS));
  }
  const group = COMMANDS.filter(({ name }) => name.startsWith(`${first} `));
  if (group.length > 0 && (wantsHelp || words.length === 1)) return print(overview(group));
  const given = words.slice(0, group.length > 0 ? 2 : 1).join(' ');
  const meant = didYouMean(given, NAMES);
  return mistake(
    `There is no command "${given}".${meant === undefined ? '' : ` Do you mean "${meant}"?`}`,
    overview(group.length > 0 ? group : COMMANDS),
  );
}

async function perform(command: Command, args: readonly string[], house: House): Promise<number> {
  const json = args.includes('--json');
  try {
    const told = await command.run(givenOf(command, args), house);
    if (typeof told === 'number') return told;
    print(json ? JSON.stringify(told.data, null, 2) : forTerminal(told.text));
    return told.exitCode ?? 0;
  } catch (error) {
    return failed(error, command, json);
  }
}

/** Tenants and their zones choose much of what is told: it must not steer the operator's terminal. */
function forTerminal(text: string): string {
  return text.replace(/(?!\r\n)[^\P{Cc}\n\t]/gu, '\ufffd');
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
    // Far more often the value was forgotten than meant: "--subject --dry-run" would be sent.
    if (token.value?.startsWith('--') && !token.inlineValue) {
      const meant = `If it is ${token.value}, write ${token.rawName}=${token.value}.`;
      throw new UsageError(`${token.rawName} takes a value: ${rule.takes}. ${meant}`);
    }
    if (values.has(token.name)) throw new UsageError(`${token.rawName} was given twice.`);
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
    return mistake(refusalText(error, command));
  }
  if (error instanceof StorageStartError || isOfFiles(error)) {
    console.error(error.message);
    return 1;
  }
  // Everything is put away: now it is as if nobody had caught the signal, whose meaning shells know.
  if (error instanceof InterruptedError) return endBy(error.signal);
  console.error(error);
  return 1;
}

/** A folder that cannot be written, a full disk: the system's sentence names what is to be mended. */
function isOfFiles(error: unknown): error is Error {
  const { syscall, path } = error as NodeJS.ErrnoException;
  return error instanceof Error && syscall !== undefined && path !== undefined;
}

function endBy(signal: NodeJS.Signals): number {
  process.kill(process.pid, signal);
  return 1;
}

/** What was refused, each thing once, and the command that helps. */
function refusalText({ code, message, errors }: RefusedError, command: Command): string {
  const [only] = errors;
  const lines = errors.map((error) => fieldLine(error, command));
  const told =
    errors.length === 1 && only && message.endsWith(only.detail)
      ? [lines[0]?.trim()]
      : [message, ...lines];
  return [...told, NEXT[code]].filter((line) => line !== undefined).join('\n');
}

const NEXT: Partial<Record<string, string>> = {
  workspace_suspended: '→ "postrider workspaces resume" lets it send again.',
  domain_not_owned: '→ "postrider domains add NAME" adds it; test mode takes any domain.',
  domain_not_verified: '→ "postrider domains verify NAME" tells which records are missing.',
  template_not_found: '→ "postrider templates pull DIR" writes down those that are there.',
};

/** A fault of a field, by the option that it came from when there is one. */
function fieldLine(error: RefusedError['errors'][number], command: Command): string {
  const field = error.pointer ?? error.parameter ?? '';
  const name = field.split('/')[1]?.replaceAll('_', '-') ?? '';
  const option = [name, name.replace(/-(at|key|seconds)$/, '')].find(
    (one) => command.options?.[one],
  );
  const argument = command.arguments?.find((one) => one.name === name.toUpperCase())?.name;
  const place = error.line === undefined ? '' : ` (line ${error.line}, column ${error.column})`;
  return `  ${option === undefined ? (argument ?? field) : `--${option}`}${place}: ${error.detail}`;
}

function mistake(sentence: string, more?: string): number {
  console.error(more === undefined ? sentence : `${sentence}\n\n${more}`);
  return 2;
}

function print(text: string): number {
  console.log(text);
  return 0;
}
