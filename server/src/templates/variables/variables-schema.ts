import type { TemplateVariable, Variable } from './infer-variables.ts';

/**
 * A template's variables as JSON Schema 2020-12, and sample values for previews. The schema is as
 * strict as rendering: values that render are valid.
 */

export type JsonSchema = { [keyword: string]: unknown };

export function variablesSchema(variables: readonly TemplateVariable[]): JsonSchema {
  const root = buildTree(variables);
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...objectSchema(root) };
}

/** Sample values for previews: examples first, then defaults, then a value of the right type. */
export function sampleValues(variables: readonly Variable[]): Record<string, unknown> {
  return sampleObject(buildTree(variables));
}

/** A variable and its nested variables. */
interface VariableNode {
  variable: Variable | TemplateVariable | undefined;
  fields: Map<string, VariableNode>;
  /** The fields belong to the items of a list. */
  isList: boolean;
}

function buildTree(variables: readonly Variable[]): VariableNode {
  const root: VariableNode = { variable: undefined, fields: new Map(), isList: false };
  for (const variable of variables) {
    let node = root;
    for (const step of variable.name.split('.')) {
      const name = step.replace(/(?:\[\])+$/, '');
      let next = node.fields.get(name);
      if (!next) {
        next = { variable: undefined, fields: new Map(), isList: false };
        node.fields.set(name, next);
      }
      next.isList ||= step.endsWith('[]');
      node = next;
    }
    node.variable = variable;
    node.isList ||= variable.type === 'list';
  }
  return root;
}

function objectSchema(node: VariableNode): JsonSchema {
  const properties: [string, JsonSchema][] = [];
  const required: string[] = [];
  for (const [name, field] of node.fields) {
    const isRequired = field.variable?.required === true && !hasDefault(field.variable);
    if (isRequired) required.push(name);
    properties.push([name, annotate(valueSchema(field, isRequired), field.variable)]);
  }
  const schema: JsonSchema = { type: 'object', properties: Object.fromEntries(properties) };
  if (required.length > 0) schema.required = required;
  return schema;
}

function valueSchema(node: VariableNode, isRequired: boolean): JsonSchema {
  const variable = node.variable;
  if (node.isList) {
    const items = node.fields.size > 0 ? objectSchema(node) : {};
    return { type: nullable(['array'], isRequired), items };
  }
  if (node.fields.size > 0) {
    return { ...objectSchema(node), type: nullable(['object'], isRequired) };
  }
  const declared = variable !== undefined && 'declared' in variable && variable.declared;
  switch (variable?.type) {
    case 'number':
      // Amounts are often sent as strings to avoid losing digits.
      return {
        type: nullable(['number', 'string'], isRequired),
        pattern: '^\\s*-?\\d+(\\.\\d+)?\\s*$',
      };
    case 'date':
      return { type: nullable(['string', 'number'], isRequired) };
    case 'boolean':
      // The type is only inferred, and a condition accepts any value.
      return declared ? { type: nullable(['boolean'], isRequired) } : {};
    case 'object':
      return { type: nullable(['object'], isRequired) };
    default:
      return {
        type: nullable(declared ? ['string'] : ['string', 'number', 'boolean'], isRequired),
      };
  }
}

/** Null counts as no value, which is valid where none is required. */
function nullable(types: string[], isRequired: boolean): string | string[] {
  const all = isRequired ? types : [...types, 'null'];
  return all.length === 1 ? (all[0] as string) : all;
}

function annotate(schema: JsonSchema, variable: Variable | undefined): JsonSchema {
  if (!variable) return schema;
  const annotated: JsonSchema = { ...schema };
  if (variable.description !== undefined) annotated.description = variable.description;
  if (hasDefault(variable)) annotated.default = variable.default;
  if (variable.example !== undefined) annotated.examples = [variable.example];
  if (variable.secret) annotated.writeOnly = true;
  return annotated;
}

function hasDefault(variable: Variable | undefined): boolean {
  return variable?.default !== undefined && variable.default !== null;
}

function sampleObject(node: VariableNode): Record<string, unknown> {
  return Object.fromEntries([...node.fields].map(([name, field]) => [name, sample(name, field)]));
}

const SAMPLE_DATE = '2030-01-31T09:30:00Z';

function sample(name: string, node: VariableNode): unknown {
  const { variable } = node;
  const given = variable?.example ?? variable?.default;
  if (given !== undefined && given !== null) return given;
  const label = name.replaceAll(/[_-]+/g, ' ').trim() || name;
  if (node.isList) {
    return node.fields.size > 0
      ? [sampleObject(node), sampleObject(node)]
      : [`${label} 1`, `${label} 2`];
  }
  if (node.fields.size > 0) return sampleObject(node);
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
