import type { JsonSchema } from '../variables/variables-schema.ts';

/**
 * Checks the values of a send against the JSON Schema of a template's variables. A general-purpose
 * validator spends tens of milliseconds compiling each schema, and new versions are published all
 * the time; these schemas use only five keywords, so they are interpreted directly.
 */

export interface VariableError {
  /** JSON Pointer into `template_variables`. */
  pointer: string;
  /** A null counts as no value, so a required null is `missing_variable`. */
  code: 'missing_variable' | 'invalid_variable';
  detail: string;
}

const ERRORS_MAX = 100;

/** Returns every error at once, up to a limit. */
export function checkVariables(
  schema: JsonSchema,
  values: Readonly<Record<string, unknown>>,
): VariableError[] {
  const errors: VariableError[] = [];
  check(schema, values, '', errors);
  return errors.slice(0, ERRORS_MAX);
}

interface SchemaKeywords {
  type?: string | string[];
  properties?: Record<string, SchemaKeywords>;
  required?: string[];
  items?: SchemaKeywords;
  pattern?: string;
}

function check(
  schema: SchemaKeywords,
  value: unknown,
  pointer: string,
  errors: VariableError[],
): void {
  if (errors.length >= ERRORS_MAX) return;
  const types = schema.type === undefined ? undefined : [schema.type].flat();
  if (types && !types.includes(typeOf(value))) {
    const wanted = types.filter((type) => type !== 'null').join(' or ');
    errors.push(value === null ? missing(pointer) : invalid(pointer, `Must be of type ${wanted}.`));
    return;
  }
  if (Array.isArray(value)) {
    const { items } = schema;
    for (const [index, item] of items ? value.entries() : []) {
      check(items as SchemaKeywords, item, `${pointer}/${index}`, errors);
    }
  } else if (typeof value === 'object' && value !== null) {
    checkObject(schema, value as Record<string, unknown>, pointer, errors);
  } else if (typeof value === 'string' && schema.pattern !== undefined) {
    if (!new RegExp(schema.pattern, 'u').test(value)) {
      errors.push(invalid(pointer, 'Must be a number.'));
    }
  }
}

function checkObject(
  { properties = {}, required = [] }: SchemaKeywords,
  value: Record<string, unknown>,
  pointer: string,
  errors: VariableError[],
): void {
  const given = (name: string): unknown => (Object.hasOwn(value, name) ? value[name] : undefined);
  for (const name of required) {
    if (given(name) === undefined) errors.push(missing(childPointer(pointer, name)));
  }
  // Iterate over the given keys: a list of a million empty records then costs nothing per property.
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined || !Object.hasOwn(properties, name)) continue;
    check(properties[name] as SchemaKeywords, child, childPointer(pointer, name), errors);
  }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function childPointer(pointer: string, name: string): string {
  return `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function missing(pointer: string): VariableError {
  return { pointer, code: 'missing_variable', detail: 'This variable is required.' };
}

function invalid(pointer: string, detail: string): VariableError {
  return { pointer, code: 'invalid_variable', detail };
}
