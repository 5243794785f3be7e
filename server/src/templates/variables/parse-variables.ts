import type { FieldError } from '../../lib/refused-error.ts';
import { RESERVED_ROOTS } from '../template-engine.ts';
import type { DeclaredVariable, VariableType } from './infer-variables.ts';

/** Parses the variables that an author declares. Declarations override what is inferred. */

export const VARIABLE_TYPES = [
  'string',
  'number',
  'boolean',
  'date',
  'list',
  'object',
] as const satisfies VariableType[];

/** Dotted names, with `[]` for the items of a list: `order.lines[].price`. */
const VARIABLE_NAME_PATTERN =
  '^[\\p{L}_][\\p{L}\\p{M}\\p{N}_-]*(\\[\\])?(\\.[\\p{L}\\p{M}\\p{N}_-]+(\\[\\])?)*$';

const VARIABLE_NAME = new RegExp(VARIABLE_NAME_PATTERN, 'u');
const VARIABLES_MAX = 500;
const NAME_CHARS_MAX = 200;
const DESCRIPTION_CHARS_MAX = 1_000;
const SAMPLE_CHARS_MAX = 64 * 1024;
const FIELDS = [
  ...['name', 'type', 'required', 'default', 'example', 'description', 'secret'],
  // Set in responses for variables that are not declared. Sending such an entry back does not declare it.
  'inferred',
];

export function parseVariables(
  value: unknown,
  pointer: string,
  errors: FieldError[],
): DeclaredVariable[] {
  if (value === null) return [];
  if (!Array.isArray(value) || value.length > VARIABLES_MAX) {
    const detail = `Must be a list of at most ${VARIABLES_MAX} variables.`;
    errors.push({ pointer, code: 'invalid_type', detail });
    return [];
  }
  const names = new Set<string>();
  return value.flatMap((one, index) => {
    const at = `${pointer}/${index}`;
    const variable = parseVariable(one, at, errors);
    if (!variable || (one as { inferred?: unknown }).inferred === true) return [];
    if (names.has(variable.name)) {
      const detail = `${variable.name} is declared twice.`;
      errors.push({ pointer: `${at}/name`, code: 'duplicate', detail });
    }
    names.add(variable.name);
    return [variable];
  });
}

function parseVariable(
  value: unknown,
  pointer: string,
  errors: FieldError[],
): DeclaredVariable | undefined {
  const addError = (field: string, code: string, detail: string): undefined => {
    errors.push({ pointer: `${pointer}/${field}`, code, detail });
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors.push({ pointer, code: 'invalid_type', detail: 'Must be an object with a name.' });
    return undefined;
  }
  const given = value as Record<string, unknown>;
  for (const field of Object.keys(given)) {
    if (!FIELDS.includes(field)) addError(field, 'unknown_field', 'Unknown field.');
  }
  const { name, type, required, description, secret } = given;
  if (typeof name !== 'string' || name.length > NAME_CHARS_MAX || !VARIABLE_NAME.test(name)) {
    const detail =
      'A name must be a dotted path such as order.id, or order.lines[].price for list items.';
    return addError('name', 'invalid_format', detail);
  }
  const root = /^[^.[]+/.exec(name)?.[0] ?? '';
  if (RESERVED_ROOTS.includes(root)) {
    const detail = `"${root}" is reserved. Choose another name.`;
    return addError('name', 'reserved_name', detail);
  }
  const variable: DeclaredVariable = { name };
  if (isGiven(type)) {
    const known = VARIABLE_TYPES.find((one) => one === type);
    if (known) variable.type = known;
    else addError('type', 'invalid_value', `Must be one of ${VARIABLE_TYPES.join(', ')}.`);
  }
  if (isGiven(required)) {
    if (typeof required === 'boolean') variable.required = required;
    else addError('required', 'invalid_type', 'Must be of type boolean.');
  }
  for (const field of ['default', 'example'] as const) {
    if (!isGiven(given[field])) continue;
    if (JSON.stringify(given[field]).length > SAMPLE_CHARS_MAX) {
      addError(field, 'too_long', `Must be at most ${SAMPLE_CHARS_MAX} characters.`);
    } else variable[field] = given[field];
  }
  if (isGiven(description)) {
    if (typeof description === 'string' && description.length <= DESCRIPTION_CHARS_MAX) {
      variable.description = description;
    } else
      addError('description', 'too_long', `Must be at most ${DESCRIPTION_CHARS_MAX} characters.`);
  }
  if (isGiven(secret)) {
    if (typeof secret === 'boolean') variable.secret = secret;
    else addError('secret', 'invalid_type', 'Must be of type boolean.');
  }
  return variable;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}
