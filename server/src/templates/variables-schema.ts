import type { TemplateVariable, Variable } from './infer-variables.ts';

/**
 * A template's variables as JSON Schema 2020-12, and sample values for previews. The schema is as
 * strict as rendering is: what would render passes.
 */

export type JsonSchema = { [keyword: string]: unknown };

export function variablesSchema(variables: readonly TemplateVariable[]): JsonSchema {
  const root = tree(variables);
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...objectSchema(root) };
}

/** Values to look at a template with: examples first, then defaults, then something of the type. */
export function sampleValues(variables: readonly Variable[]): Record<string, unknown> {
  return sampleObject(tree(variables));
}

/** A variable and what lies below it. */
interface Branch {
  variable: Variable | TemplateVariable | undefined;
  fields: Map<string, Branch>;
  /** The fields belong to the items of a list. */
  isList: boolean;
}

function tree(variables: readonly Variable[]): Branch {
  const root: Branch = { variable: undefined, fields: new Map(), isList: false };
  for (const variable of variables) {
    let branch = root;
    for (const step of variable.name.split('.')) {
      const name = step.replace(/(?:\[\])+$/, '');
      let next = branch.fields.get(name);
      if (!next) {
        next = { variable: undefined, fields: new Map(), isList: false };
        branch.fields.set(name, next);
      }
      next.isList ||= step.endsWith('[]');
      branch = next;
    }
    branch.variable = variable;
    branch.isList ||= variable.type === 'list';
  }
  return root;
}

function objectSchema(branch: Branch): JsonSchema {
  const properties: [string, JsonSchema][] = [];
  const required: string[] = [];
  for (const [name, field] of branch.fields) {
    const needed = field.variable?.required === true && !hasDefault(field.variable);
    if (needed) required.push(name);
    properties.push([name, withNotes(valueSchema(field, needed), field.variable)]);
  }
  const schema: JsonSchema = { type: 'object', properties: Object.fromEntries(properties) };
  if (required.length > 0) schema.required = required;
  return schema;
}

function valueSchema(branch: Branch, needed: boolean): JsonSchema {
  const variable = branch.variable;
  if (branch.isList) {
    const items = branch.fields.size > 0 ? objectSchema(branch) : {};
    return { type: orNull(['array'], needed), items };
  }
  if (branch.fields.size > 0) {
    return { ...objectSchema(branch), type: orNull(['object'], needed) };
  }
  const declared = variable !== undefined && 'declared' in variable && variable.declared;
  switch (variable?.type) {
    case 'number':
      // Amounts are often sent as text so that no digit is lost.
      return { type: orNull(['number', 'string'], needed), pattern: '^\\s*-?\\d+(\\.\\d+)?\\s*$' };
    case 'date':
      return { type: orNull(['string', 'number'], needed) };
    case 'boolean':
      // A guess: a condition takes every value.
      return declared ? { type: orNull(['boolean'], needed) } : {};
    case 'object':
      return { type: orNull(['object'], needed) };
    default:
      return { type: orNull(declared ? ['string'] : ['string', 'number', 'boolean'], needed) };
  }
}

/** Null is no value, which is fine where none is needed. */
function orNull(types: string[], needed: boolean): string | string[] {
  const all = needed ? types : [...types, 'null'];
  return all.length === 1 ? (all[0] as string) : all;
}

function withNotes(schema: JsonSchema, variable: Variable | undefined): JsonSchema {
  if (!variable) return schema;
  const noted: JsonSchema = { ...schema };
  if (variable.description !== undefined) noted.description = variable.description;
  if (hasDefault(variable)) noted.default = variable.default;
  if (variable.example !== undefined) noted.examples = [variable.example];
  if (variable.secret) noted.writeOnly = true;
  return noted;
}

function hasDefault(variable: Variable | undefined): boolean {
  return variable?.default !== undefined && variable.default !== null;
}

function sampleObject(branch: Branch): Record<string, unknown> {
  return Object.fromEntries([...branch.fields].map(([name, field]) => [name, sample(name, field)]));
}

const SAMPLE_DATE = '2030-01-31T09:30:00Z';

function sample(name: string, branch: Branch): unknown {
  const { variable } = branch;
  const given = variable?.example ?? variable?.default;
  if (given !== undefined && given !== null) return given;
  const label = name.replaceAll(/[_-]+/g, ' ').trim() || name;
  if (branch.isList) {
    return branch.fields.size > 0
      ? [sampleObject(branch), sampleObject(branch)]
      : [`${label} 1`, `${label} 2`];
  }
  if (branch.fields.size > 0) return sampleObject(branch);
  switch (variable?.type) {
    case 'number':
      return 42;
    case 'boolean':
      return true;
    case 'date':
      return SAMPLE_DATE;
    case 'object':
      return {};
    default:
      return /url|link|href/i.test(name) ? 'https://example.com/' : `[${label}]`;
  }
}
