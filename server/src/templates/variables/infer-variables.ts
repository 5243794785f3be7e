import { type InferredType, type PathUse, pathUses } from '../checks/path-uses.ts';
import {
  ContentLimitError,
  type ParsedContent,
  type Partials,
  RESERVED_ROOTS,
} from '../template-engine.ts';

/**
 * Infers a template's variables from its placeholders: which values a send must supply, of which
 * type, and which are required. What an author declares takes precedence over what is inferred.
 */

export type VariableType = InferredType | 'object';

export interface Variable {
  /** Dotted path, with `[]` for the items of a list: `order.lines[].price`. */
  name: string;
  type: VariableType;
  required: boolean;
  default?: unknown;
  example?: unknown;
  description?: string | undefined;
  /** The value is redacted once the message is final. */
  secret?: boolean | undefined;
}

/** A declaration may omit everything but the name; the rest is inferred. */
export type DeclaredVariable = Pick<Variable, 'name'> & Partial<Omit<Variable, 'name'>>;

/** A variable, and whether its type was declared rather than inferred. */
export interface TemplateVariable extends Variable {
  declared: boolean;
}

/** Far more than any real template uses; bounds the cost of building a schema. */
const VARIABLES_MAX = 1_000;

/** Throws a ContentLimitError when there are too many variables. */
export function inferVariables(
  contents: readonly ParsedContent[],
  partials?: Partials,
): Variable[] {
  const inferences = new Map<string, Inference>();
  for (const content of contents) {
    for (const use of pathUses(content, partials)) addUse(inferences, use);
  }
  addParents(inferences);
  return [...inferences].map(([name, { type, required }]) => ({ name, type, required }));
}

/** Declared variables come first, in their order, followed by the other inferred ones. */
export function mergeVariables(
  inferred: readonly Variable[],
  declared: readonly DeclaredVariable[],
): TemplateVariable[] {
  const inferredByName = new Map(inferred.map((variable) => [variable.name, variable]));
  const merged = declared.map((declaration): TemplateVariable => {
    const inference = inferredByName.get(declaration.name);
    inferredByName.delete(declaration.name);
    const hasDefault = declaration.default !== undefined && declaration.default !== null;
    return {
      ...declaration,
      type: declaration.type ?? inference?.type ?? 'string',
      required: declaration.required ?? (hasDefault ? false : (inference?.required ?? false)),
      declared: declaration.type !== undefined,
    };
  });
  for (const variable of inferredByName.values()) merged.push({ ...variable, declared: false });
  return merged;
}

/** Variables inferred from one text, or from several that are always sent together. */
export interface InferredSet {
  variables: readonly Variable[];
  /** The texts are part of every message, not of one locale variant. */
  unconditional: boolean;
}

/**
 * Merges the variables of a template's locale variants. A variable that only some variants require is
 * optional; a send that lacks it gets an error when its own variant is rendered. A specific type takes
 * precedence over `string`.
 */
export function mergeInferred(lists: readonly InferredSet[]): Variable[] {
  const variants = lists.filter(({ unconditional }) => !unconditional).length;
  const merged = new Map<string, Variable & { neededBy: number; alwaysNeeded: boolean }>();
  for (const { variables, unconditional } of lists) {
    for (const { name, type, required } of variables) {
      const known = merged.get(name) ?? {
        name,
        type,
        required,
        neededBy: 0,
        alwaysNeeded: false,
      };
      if (known.type === 'string') known.type = type;
      if (required && unconditional) known.alwaysNeeded = true;
      else if (required) known.neededBy += 1;
      merged.set(name, known);
    }
  }
  return [...merged.values()].map(({ name, type, neededBy, alwaysNeeded }) => ({
    name,
    type,
    required: alwaysNeeded || (variants > 0 && neededBy === variants),
  }));
}

interface Inference {
  type: VariableType;
  certainty: number;
  required: boolean;
}

function addUse(inferences: Map<string, Inference>, use: PathUse): void {
  const root = /^[^.[]+/.exec(use.path)?.[0] ?? '';
  if (RESERVED_ROOTS.includes(root)) return;
  const known = inferences.get(use.path);
  if (!known) {
    inferences.set(use.path, { type: use.type, certainty: use.certainty, required: use.required });
    checkCount(inferences, use.field);
    return;
  }
  known.required ||= use.required;
  if (use.certainty > known.certainty) {
    known.type = use.type;
    known.certainty = use.certainty;
  }
}

function checkCount(inferences: ReadonlyMap<string, Inference>, field: string): void {
  if (inferences.size <= VARIABLES_MAX) return;
  throw new ContentLimitError(field, `There are more than ${VARIABLES_MAX} different variables.`);
}

/** `order.id` implies an object `order`, `lines[].price` a list `lines`. */
function addParents(inferences: Map<string, Inference>): void {
  for (const [name, inference] of [...inferences]) {
    let path = name;
    for (;;) {
      const isItem = path.endsWith('[]');
      const cut = isItem ? path.length - 2 : path.lastIndexOf('.');
      if (cut <= 0) break;
      path = path.slice(0, cut);
      if (path.endsWith('[]')) continue;
      const parent = inferences.get(path);
      const type = isItem || name.startsWith(`${path}[]`) ? 'list' : 'object';
      if (!parent) {
        inferences.set(path, {
          type,
          certainty: 2,
          required: requiresParent(inference, path, name),
        });
        checkCount(inferences, 'html');
      } else {
        parent.type = type;
        parent.certainty = 3;
        parent.required ||= requiresParent(inference, path, name);
      }
    }
  }
  for (const name of [...inferences.keys()]) {
    if (name.endsWith('[]')) inferences.delete(name);
  }
}

/** A required field makes its object required, but a required field of an item does not require the list. */
function requiresParent(inference: Inference, parent: string, name: string): boolean {
  return inference.required && !name.slice(parent.length).startsWith('[]');
}
