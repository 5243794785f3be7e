import { type PathUse, pathUses, type TypeGuess } from './path-uses.ts';
import {
  ContentLimitError,
  type ParsedContent,
  type Partials,
  RESERVED_ROOTS,
} from './substitution.ts';

/**
 * The variables of a template, read off its placeholders: what to send, of which type, and what a
 * send cannot do without. An author's own words about a variable go before what was guessed.
 */

export type VariableType = TypeGuess | 'object';

export interface Variable {
  /** Dotted path; `[]` for the items of a list: `order.lines[].price`. */
  name: string;
  type: VariableType;
  required: boolean;
  default?: unknown;
  example?: unknown;
  description?: string | undefined;
  /** Redacted once the message is final. */
  secret?: boolean | undefined;
}

/** A declaration may leave the guessing to us. */
export type DeclaredVariable = Pick<Variable, 'name'> & Partial<Omit<Variable, 'name'>>;

/** A variable with the knowledge whether a person chose its type. */
export interface TemplateVariable extends Variable {
  declared: boolean;
}

/** More than anyone fills in; beyond it a schema would only be a way to keep us busy. */
const VARIABLES_MAX = 1_000;

/** Throws a ContentLimitError when there are too many to be true. */
export function inferVariables(
  contents: readonly ParsedContent[],
  partials?: Partials,
): Variable[] {
  const guesses = new Map<string, Guess>();
  for (const content of contents) {
    for (const use of pathUses(content, partials)) addUse(guesses, use);
  }
  addParents(guesses);
  return [...guesses].map(([name, { type, required }]) => ({ name, type, required }));
}

/** Declared variables first, in their order, then what else the placeholders ask for. */
export function mergeVariables(
  inferred: readonly Variable[],
  declared: readonly DeclaredVariable[],
): TemplateVariable[] {
  const guessed = new Map(inferred.map((variable) => [variable.name, variable]));
  const merged = declared.map((declaration): TemplateVariable => {
    const guess = guessed.get(declaration.name);
    guessed.delete(declaration.name);
    const hasDefault = declaration.default !== undefined && declaration.default !== null;
    return {
      ...declaration,
      type: declaration.type ?? guess?.type ?? 'string',
      required: declaration.required ?? (hasDefault ? false : (guess?.required ?? false)),
      declared: declaration.type !== undefined,
    };
  });
  for (const variable of guessed.values()) merged.push({ ...variable, declared: false });
  return merged;
}

interface Guess {
  type: VariableType;
  certainty: number;
  required: boolean;
}

function addUse(guesses: Map<string, Guess>, use: PathUse): void {
  const root = /^[^.[]+/.exec(use.path)?.[0] ?? '';
  if (RESERVED_ROOTS.includes(root)) return;
  const known = guesses.get(use.path);
  if (!known) {
    guesses.set(use.path, { type: use.guess, certainty: use.certainty, required: use.required });
    refuseTooMany(guesses, use.field);
    return;
  }
  known.required ||= use.required;
  if (use.certainty > known.certainty) {
    known.type = use.guess;
    known.certainty = use.certainty;
  }
}

function refuseTooMany(guesses: ReadonlyMap<string, Guess>, field: string): void {
  if (guesses.size <= VARIABLES_MAX) return;
  throw new ContentLimitError(field, `There are more than ${VARIABLES_MAX} different variables.`);
}

/** `order.id` implies an object `order`, `lines[].price` a list `lines`. */
function addParents(guesses: Map<string, Guess>): void {
  for (const [name, guess] of [...guesses]) {
    let path = name;
    for (;;) {
      const isItem = path.endsWith('[]');
      const cut = isItem ? path.length - 2 : path.lastIndexOf('.');
      if (cut <= 0) break;
      path = path.slice(0, cut);
      if (path.endsWith('[]')) continue;
      const parent = guesses.get(path);
      const type = isItem || name.startsWith(`${path}[]`) ? 'list' : 'object';
      if (!parent) {
        guesses.set(path, { type, certainty: 2, required: needs(guess, path, name) });
        refuseTooMany(guesses, 'html');
      } else {
        parent.type = type;
        parent.certainty = 3;
        parent.required ||= needs(guess, path, name);
      }
    }
  }
  for (const name of [...guesses.keys()]) {
    if (name.endsWith('[]')) guesses.delete(name);
  }
}

/** A needed field makes its object needed, but an item's field says nothing of the list. */
function needs(guess: Guess, parent: string, name: string): boolean {
  return guess.required && !name.slice(parent.length).startsWith('[]');
}
