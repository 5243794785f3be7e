import type { JsonSchema } from './variables-schema.ts';

/**
 * Checks the values of a send against the schema of a template's variables. A general validator
 * would compile each schema for tens of milliseconds, and tenants make new ones all day; ours use
 * five keywords, which can as well be walked.
 */

export interface VariableError {
  /** JSON Pointer into `template_variables`. */
  pointer: string;
  /** Null is no value: where one is needed it is missing. */
  code: 'missing_variable' | 'invalid_variable';
  detail: string;
}

const ERRORS_MAX = 100;

/** Every way in which the values do not fit, at once. */
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
    errors.push(value === null ? missing(pointer) : invalid(pointer, `This must be ${wanted}.`));
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
      errors.push(invalid(pointer, 'This is not a number.'));
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
  // By what was given: a list of a million empty records says nothing of any property.
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
